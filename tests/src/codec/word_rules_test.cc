// The hand-written rules cut as PCRE2 cuts with the same expressions, on random text.
// Called by ctest. Read next: codec/word_rules.cc.
#include "codec/word_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "codec/pattern.h"
#include "codec/unicode.h"
#include "codec/utf8.h"

namespace fathom::codec {
namespace {

constexpr const char* kLines =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";

const char* const kRegexes[] = {
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
    kLines,
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|)"
    R"( ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|)"
    R"(\s++$|\s*[\r\n]|\s+(?!\S)|\s)",
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
};

// Whether PCRE2, whose Unicode is older, takes `c` for what the table says.
bool agrees(char32_t c) {
  static const std::pair<Pattern, uint8_t> kKinds[] = {{Pattern(R"([\p{Lu}\p{Lt}])"), kBitUpper},
                                                       {Pattern(R"(\p{Ll})"), kBitLower},
                                                       {Pattern(R"([\p{Lm}\p{Lo}])"), kBitCaseless},
                                                       {Pattern(R"(\p{M})"), kBitMark},
                                                       {Pattern(R"(\p{N})"), kBitNumber},
                                                       {Pattern(R"(\s)"), kBitSpace}};
  std::string text;
  append_utf8(text, c);
  return std::all_of(std::begin(kKinds), std::end(kKinds), [&](const auto& kind) {
    Pattern::Walk walk(kind.first, text);
    return walk.next().has_value() == ((CharTable::get().bits(c) & kind.second) != 0);
  });
}

// Characters of every kind, those that the rules name more often.
std::string random_text(std::mt19937& random) {
  static constexpr char32_t kOften[] = {
      ' ',    '\n',   '\r',  '\'', 's',  'S',   'l',     'L',    'v',   'e',    'r',  'd',
      'A',    'b',    '1',   '/',  '!',  0x301, 0x17F,   0x4E2D, 0x1C5, 0x2B0,  0x85, 0xA0,
      0x3000, 0x200B, 0x661, 0xB2, 0xE9, 0xC9,  0x1F600, '\t',   0x903, 0x20DD, 0x378};
  std::string text;
  for (size_t n = 1 + random() % 40; n > 0; --n) {
    char32_t c = kOften[random() % std::size(kOften)];
    if (random() % 8 == 0) {
      c = 0x20 + random() % 0x2000;
    }
    c = agrees(c) ? c : 'x';
    append_utf8(text, c);
  }
  return text;
}

TEST(WordRules, CutAsTheirExpressions) {
  std::mt19937 random(11);
  for (const char* regex : kRegexes) {
    const auto rule = find_word_rule(regex);
    ASSERT_TRUE(rule.has_value()) << regex;
    const Pattern pattern(regex);
    for (int i = 0; i < 4000; ++i) {
      const std::string text = random_text(random);
      std::vector<std::string_view> words;
      cut_words(*rule, text, words);
      std::vector<std::string_view> expected;
      Pattern::Walk walk(pattern, text);
      while (const auto match = walk.next()) {
        expected.push_back(std::string_view(text).substr(match->begin, match->end - match->begin));
      }
      ASSERT_EQ(words, expected) << regex << "\n" << text;
    }
  }
  EXPECT_FALSE(find_word_rule(R"(\w+)").has_value());
}

}  // namespace
}  // namespace fathom::codec
