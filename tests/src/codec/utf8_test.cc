// Well-formed and broken sequences against table 3-7 and figure 3-8 of the Unicode Standard.
// Called by ctest.
#include "codec/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace fathom::codec {
namespace {

const std::string kBad = "\xEF\xBF\xBD";

TEST(Utf8, ReplacesMaximalSubparts) {
  EXPECT_EQ(replace_invalid_utf8("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"),
            "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  // The standard's own example (table 3-8): 61 F1 80 80 E1 80 C2 62 80 63 80 BF 64.
  EXPECT_EQ(replace_invalid_utf8("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64"),
            "a" + kBad + kBad + kBad + "b" + kBad + "c" + kBad + kBad + "d");
  EXPECT_EQ(replace_invalid_utf8("\xC0\xAF"), kBad + kBad);                        // overlong
  EXPECT_EQ(replace_invalid_utf8("\xE0\x9F\x80"), kBad + kBad + kBad);             // overlong
  EXPECT_EQ(replace_invalid_utf8("\xED\xA0\x80"), kBad + kBad + kBad);             // surrogate
  EXPECT_EQ(replace_invalid_utf8("\xF4\x90\x80\x80"), kBad + kBad + kBad + kBad);  // > 10FFFF
  EXPECT_EQ(replace_invalid_utf8("\xF0\x9F\x98"), kBad);                           // cut off
}

TEST(Utf8, AllScalarValuesRoundTrip) {
  for (char32_t c = 0; c < 0x110000; c += c < 0x3000 ? 1 : 97) {
    if (c >= 0xD800 && c <= 0xDFFF) {
      continue;
    }
    std::string text;
    append_utf8(text, c);
    const Utf8Unit unit = read_utf8(text, 0);
    ASSERT_EQ(unit.kind, Utf8Unit::Kind::kCharacter);
    ASSERT_EQ(unit.character, c);
    ASSERT_EQ(unit.size, text.size());
    ASSERT_TRUE(is_valid_utf8(text));
    ASSERT_EQ(open_end_bytes(text), 0u);
    for (size_t cut = 1; cut < text.size(); ++cut) {
      ASSERT_EQ(open_end_bytes("x" + text.substr(0, cut)), cut);
      ASSERT_FALSE(is_valid_utf8(text.substr(0, cut)));
    }
  }
}

TEST(Utf8, ABrokenEndIsNotOpen) {
  EXPECT_EQ(open_end_bytes(""), 0u);
  EXPECT_EQ(open_end_bytes("\xFF"), 0u);
  EXPECT_EQ(open_end_bytes("\x80\x80\x80"), 0u);
  EXPECT_EQ(open_end_bytes("\xE0\x80"), 0u);  // E0 needs A0..BF
  EXPECT_EQ(open_end_bytes("\xC3\xA9"), 0u);
}

}  // namespace
}  // namespace fathom::codec
