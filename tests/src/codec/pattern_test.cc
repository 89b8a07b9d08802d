// Matches of PCRE2 walked as the reference's engine walks them; Ruby's words translated.
// Called by ctest. Read next: src/codec/pattern.cc, src/codec/pattern_syntax.cc.
#include "codec/pattern.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/error_check.h"

namespace fathom::codec {
namespace {

using Texts = std::vector<std::string>;

Texts matches(const Pattern& pattern, std::string_view text) {
  Texts found;
  Pattern::Walk walk(pattern, text);
  while (const auto range = walk.next()) {
    found.emplace_back(text.substr(range->begin, range->end - range->begin));
  }
  return found;
}

Texts foreign(std::string_view regex, std::string_view text) {
  return matches(Pattern(regex, {.is_foreign = true}), text);
}

TEST(Pattern, WalksMatchesFromTheLeft) {
  EXPECT_EQ(matches(Pattern(R"(\p{L}+|\d)"), "ab1\u00e9 2"), (Texts{"ab", "1", "\u00e9", "2"}));
  EXPECT_EQ(matches(Pattern("x"), "abc"), Texts{});
  EXPECT_EQ(matches(Pattern("."), ""), Texts{});
}

TEST(Pattern, AnEmptyMatchAfterAnotherIsPassedOver) {
  EXPECT_EQ(matches(Pattern("a*"), "baac"), (Texts{"", "aa", ""}));
  EXPECT_EQ(matches(Pattern("$"), "a\n"), Texts{""});  // the end of the text only
}

TEST(Pattern, OfTextMatchesLettersOnly) {
  EXPECT_EQ(matches(Pattern::of_text("a.b*[(\\"), "axb a.b*[(\\"), Texts{"a.b*[(\\"});
}

TEST(Pattern, BytesWhereAskedFor) {
  const Pattern bytes("[\\x80-\\xFF]", {.by_bytes = true});
  EXPECT_EQ(matches(bytes, "\u00e9"), (Texts{"\xC3", "\xA9"}));
}

TEST(PatternSyntax, BlanksAreUnicodesEverywhere) {
  EXPECT_EQ(matches(Pattern(R"(\s)"), "a\u00a0b\u200b\u2028"), (Texts{"\u00a0", "\u2028"}));
  EXPECT_EQ(matches(Pattern(R"([^\s])"), "a\u3000"), Texts{"a"});
}

TEST(PatternSyntax, RubyLinesHexDigitsAndRepeatedIntervals) {
  EXPECT_EQ(foreign("^.", "ab\ncd"), (Texts{"a", "c"}));
  EXPECT_EQ(foreign(".$", "ab\ncd"), (Texts{"b", "d"}));
  EXPECT_EQ(foreign(R"(\h+)", "xfFg0"), (Texts{"fF", "0"}));
  EXPECT_EQ(foreign(R"([\hx])", "xg1"), (Texts{"x", "1"}));
  EXPECT_EQ(foreign("^a{1,2}+b", "aaab"), Texts{"aaab"});     // repeats
  EXPECT_EQ(matches(Pattern("^a{1,2}+b"), "aaab"), Texts{});  // gives nothing back
  EXPECT_EQ(foreign(R"(\u00e9)", "e\u00e9"), Texts{"\u00e9"});
}

TEST(PatternSyntax, RubyClassesIntersect) {
  EXPECT_EQ(foreign("[a-z&&[^aeiou]]+", "abcde"), (Texts{"bcd"}));
  EXPECT_EQ(foreign(R"([\p{L}&&[^\p{Lu}]])", "aB\u00e9"), (Texts{"a", "\u00e9"}));
  EXPECT_EQ(foreign(R"(\w+)", "a_1\u00b2-\u4f60"), (Texts{"a_1\u00b2", "\u4f60"}));
}

void expect_unsupported(std::string_view regex, std::string_view says) {
  fathom::test::expect_error([&] { Pattern(regex, {.is_foreign = true, .where = "t.json: key"}); },
                             ErrorCode::kUnsupported, {says});
}

TEST(PatternSyntax, RefusesWhatHasNoCounterpart) {
  expect_unsupported(R"(a\Kb)", "byte 1: \\K is not supported");
  expect_unsupported(R"(\y)", "\\y");
  expect_unsupported("[a[b]]", "a class inside a class");
  expect_unsupported("[^a&&[b]]", "this intersection");
  expect_unsupported("[a&&b]", "this intersection");
  expect_unsupported("(a", "t.json: key: regular expression '(a' is not understood");
  expect_unsupported("[a", "a class without its end");
  expect_unsupported(std::string(70'000, 'a'), "70000 bytes");
}

TEST(PatternSyntax, EndsOnBrokenAndDeepExpressions) {
  for (const char* regex : {"\\", "[", "[^", "[\\", "\\u", "\\x{", "\\p{", "[]", "(?", "[a&&["}) {
    EXPECT_THROW(Pattern(regex, {.is_foreign = true}), Error) << regex;
  }
  std::string deep;
  for (int i = 0; i < 12'000; ++i) {
    deep += "[a&&";
  }
  expect_unsupported(deep, "this intersection");
  expect_unsupported(std::string(30'000, '(') + std::string(30'000, ')'), "is not understood");
}

TEST(Pattern, AnExpressionThatTriesTooMuchEnds) {
  fathom::test::expect_error([] { foreign("(a|aa)+$", std::string(2000, 'a') + "c"); },
                             ErrorCode::kResourceExhausted, {"PCRE2 error", "2001 bytes"});
}

}  // namespace
}  // namespace fathom::codec
