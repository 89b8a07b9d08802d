// Normalization form C on the annex's own examples, and in linear time on endless marks.
// Called by ctest. Source of the values: Unicode Standard Annex 15, figures 3 to 6.
#include "codec/nfc.h"

#include <gtest/gtest.h>

#include <string>

namespace fathom::codec {
namespace {

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

}  // namespace
}  // namespace fathom::codec
