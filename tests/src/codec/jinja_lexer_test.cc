// Tokens, white space control and errors with their lines.
// Called by ctest.
#include "codec/jinja_lexer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace fathom::codec::jinja {
namespace {

// The texts of the tokens, separated by '|'.
std::string tokens_of(std::string_view source) {
  const TokenList list = tokenize(source);
  std::string out;
  for (const Token& token : list.tokens) {
    out += std::string(token.text) + (token.kind == TokenKind::kEnd ? "" : "|");
  }
  return out;
}

std::string error_of(std::string_view source) {
  try {
    return "no error, but: " + tokens_of(source);
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(Lexer, ReadsTags) {
  EXPECT_EQ(tokens_of("a{{ x.y[0]|f(1.5e3, 'q') }}b"), "a|{{|x|.|y|[|0|]|||f|(|1.5e3|,|q|)|}}|b|");
  EXPECT_EQ(tokens_of("{{ 0x1F 1_000 1.a a.1.5 00 }}"), "{{|0x1F|1_000|1|.|a|a|.|1|.|5|00|}}|");
  EXPECT_EQ(tokens_of("{{ {'}}': 1} }}"), "{{|{|}}|:|1|}|}}|");
  EXPECT_EQ(tokens_of("{% if a//b**c>=d %}"), "{%|if|a|//|b|**|c|>=|d|%}|");
}

TEST(Lexer, CutsWhiteSpace) {
  EXPECT_EQ(tokens_of("a\n  {% x %}\n b {%- y -%} c\n"), "a\n|{%|x|%}| b|{%|y|%}|c|");
  EXPECT_EQ(tokens_of("a\n  {%+ x +%}\nb"), "a\n  |{%|x|%}|\nb|");
  EXPECT_EQ(tokens_of("  {{ x }}\n  {#- c -#}  \nd\r\n\r\n"), "  |{{|x|}}|d\n|");
  EXPECT_EQ(tokens_of("{% raw %} {{ {% endraw %}\nx"), " {{ |x|");
}

TEST(Lexer, Unescapes) {
  EXPECT_EQ(tokens_of(R"({{ 'a\n\x41\u00e9\U0001f600\101\q\'' }})"),
            "{{|a\nA\u00e9\U0001F600A\\q'|}}|");
}

TEST(Lexer, NamesTheLine) {
  EXPECT_THAT(error_of("a\n{{ x"), testing::HasSubstr("line 2: a tag without its end '}}'"));
  EXPECT_THAT(error_of("{{ (] }}"), testing::HasSubstr("unexpected ']', expected ')'"));
  EXPECT_THAT(error_of("{{ 'a }}"), testing::HasSubstr("a string without its end"));
  EXPECT_THAT(error_of("{{ $ }}"), testing::HasSubstr("unexpected char '$'"));
  EXPECT_THAT(error_of("\n\n{# x"), testing::HasSubstr("line 3: a comment"));
  EXPECT_THAT(error_of("{{ '\\x4' }}"), testing::HasSubstr("truncated"));
}

}  // namespace
}  // namespace fathom::codec::jinja
