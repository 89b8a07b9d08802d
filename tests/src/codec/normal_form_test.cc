// Normalization on the annex's own examples, and in linear time on endless marks.
// Called by ctest. Source of the values: Unicode Standard Annex 15, figures 3 to 6.
#include "codec/normal_form.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace fathom::codec {
namespace {

std::string to_nfc(std::string_view text) {
  return to_normal_form(text, NormalForm::kNfc);
}

bool is_surely_nfc(std::string_view text) {
  return is_surely_normal(text, NormalForm::kNfc);
}

TEST(Nfc, ComposesAndOrders) {
  EXPECT_EQ(to_nfc("A\xCC\x8A"), "\xC3\x85");                         // A + ring
  EXPECT_EQ(to_nfc("\xE2\x84\xAB"), "\xC3\x85");                      // Angstrom sign
  EXPECT_EQ(to_nfc("s\xCC\x87\xCC\xA3"), "\xE1\xB9\xA9");             // s, dot above, dot below
  EXPECT_EQ(to_nfc("\xE1\xB8\x8B\xCC\xA3"), "\xE1\xB8\x8D\xCC\x87");  // d dot above + dot below
  EXPECT_EQ(to_nfc("\xE0\xA5\x98"), "\xE0\xA4\x95\xE0\xA4\xBC");      // U+0958 is excluded
  EXPECT_EQ(to_nfc("\xE1\x84\x80\xE1\x85\xA1\xE1\x86\xA8"), "\xEA\xB0\x81");  // Hangul
  EXPECT_EQ(to_nfc("\xEF\xAC\x81"), "\xEF\xAC\x81");  // the ligature fi stays
  EXPECT_EQ(to_nfc(""), "");
}

TEST(Nfc, QuickCheckIsSafe) {
  EXPECT_TRUE(is_surely_nfc("plain \xC3\xA9"));
  EXPECT_FALSE(is_surely_nfc("e\xCC\x81"));
  EXPECT_FALSE(is_surely_nfc("\xCD\xB4"));  // U+0374 becomes U+02B9
  EXPECT_EQ(to_nfc("\xCD\xB4"), "\xCA\xB9");
}

TEST(Nfc, EndlessMarksInTheWrongOrder) {
  std::string text = "a";
  for (int i = 0; i < 200'000; ++i) {
    text += i % 2 == 0 ? "\xCC\x81" : "\xCC\xA3";  // class 230, class 220
  }
  const std::string out = to_nfc(text);
  EXPECT_EQ(out.substr(0, 5), "\xE1\xBA\xA1\xCC\xA3");  // a with dot below, then the other dots
}

TEST(NormalForms, OfTheAnnexsOwnCharacters) {
  const std::string_view dotted_long_s = "\xE1\xBA\x9B\xCC\xA3";  // U+1E9B U+0323
  EXPECT_EQ(to_normal_form(dotted_long_s, NormalForm::kNfd), "\xC5\xBF\xCC\xA3\xCC\x87");
  EXPECT_EQ(to_normal_form(dotted_long_s, NormalForm::kNfkd), "s\xCC\xA3\xCC\x87");
  EXPECT_EQ(to_normal_form(dotted_long_s, NormalForm::kNfkc), "\xE1\xB9\xA9");
  EXPECT_EQ(to_normal_form("\xEF\xAC\x81 2\xC2\xB2", NormalForm::kNfkc), "fi 22");
  EXPECT_EQ(to_normal_form("\xC3\x85", NormalForm::kNfd), "A\xCC\x8A");
}

}  // namespace
}  // namespace fathom::codec
