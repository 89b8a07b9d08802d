// Case, classes and space where Unicode is not simple; the values are Python's.
// Called by ctest.
#include "codec/jinja_unicode.h"

#include <gtest/gtest.h>

namespace fathom::codec::jinja {
namespace {

TEST(Unicode, MapsCase) {
  EXPECT_EQ(to_upper("stra\u00dfe \ufb01 \u0149 \u1f80"), "STRASSE FI \u02bcN \u1f08\u0399");
  EXPECT_EQ(to_lower("\u0130 \u03a3\u0391\u03a3 \u03a3"), "i\u0307 \u03c3\u03b1\u03c2 \u03c3");
  EXPECT_EQ(to_title("hello wORLD \u01c6 \u00dfa"), "Hello World \u01c5 Ssa");
  EXPECT_EQ(capitalize("\u00df\u1fbc"), "Ss\u1fb3");
  EXPECT_EQ(casefold("\u00df\u0130"), "ssi\u0307");
  EXPECT_EQ(swap_case("aB\u00df"), "AbSS");
}

TEST(Unicode, KnowsClasses) {
  EXPECT_TRUE(is_space(0x1C) && is_space(0x85) && is_space(0x3000) && !is_space(0x200B));
  EXPECT_TRUE(is_digit(0xB2) && !is_decimal(0xB2) && is_decimal(0x663));
  EXPECT_TRUE(is_numeric(0xBD) && !is_digit(0xBD) && is_numeric(0x4E00));
  EXPECT_TRUE(is_printable(0xE9) && !is_printable(0xA0) && !is_printable(0xAD) &&
              !is_printable(0xE000));
  EXPECT_TRUE(has_only_case("A1", true) && !has_only_case("1", true) &&
              !has_only_case("\u01c5", true));
}

TEST(Unicode, SkipsSpace) {
  EXPECT_EQ(skip_space("\u00a0 a", 0, 4), 3u);
  EXPECT_EQ(skip_space_back("a\u3000\n", 0, 5), 1u);
  EXPECT_EQ(skip_space_back(" ", 0, 1), 0u);
}

}  // namespace
}  // namespace fathom::codec::jinja
