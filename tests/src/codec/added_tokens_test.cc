// Leftmost-longest matching, control tokens left alone, white space taken along.
// Called by ctest. Read next: codec/added_tokens.cc.
#include "codec/added_tokens.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace fathom::codec {
namespace {

// Fragments as text: "[id]" for a token, the text itself otherwise, "|" between.
std::string show(const AddedTokens& tokens, const std::string& text, bool parse_special = true) {
  std::string out;
  for (const Fragment& fragment : tokens.split(text, {.parse_special = parse_special})) {
    out += out.empty() ? "" : "|";
    out += fragment.id < 0 ? std::string(fragment.text) : "[" + std::to_string(fragment.id) + "]";
  }
  return out;
}

TEST(AddedTokens, LeftmostThenLongest) {
  const AddedTokens tokens(
      {{.id = 1, .text = "ab"}, {.id = 2, .text = "abcd"}, {.id = 3, .text = "bcdef"}});
  EXPECT_EQ(show(tokens, "xabcdefab"), "x|[2]|ef|[1]");
  EXPECT_EQ(show(tokens, "abc"), "[1]|c");
  EXPECT_EQ(show(tokens, "bcde"), "bcde");
  EXPECT_EQ(show(tokens, ""), "");
}

TEST(AddedTokens, ControlTokensOnlyWhenAsked) {
  const AddedTokens tokens(
      {{.id = 1, .text = "<c>", .is_control = true}, {.id = 2, .text = "<u>"}});
  EXPECT_EQ(show(tokens, "<c><u>", true), "[1]|[2]");
  EXPECT_EQ(show(tokens, "<c><u>", false), "<c>|[2]");
}

TEST(AddedTokens, TakeWhiteSpaceAlong) {
  const AddedTokens tokens(
      {{.id = 1, .text = "R", .strips_right = true}, {.id = 2, .text = "L", .strips_left = true}});
  EXPECT_EQ(show(tokens, "a R \n\xE3\x80\x80 b"), "a |[1]|b");
  EXPECT_EQ(show(tokens, "a \xE3\x80\x80 L b"), "a|[2]| b");
  EXPECT_EQ(show(tokens, "R  L"), "[1]|[2]");
  EXPECT_EQ(show(tokens, "R  "), "[1]");
}

TEST(AddedTokens, EmptyAndDoubleTexts) {
  const AddedTokens tokens({{.id = 1, .text = ""}, {.id = 2, .text = "x"}, {.id = 3, .text = "x"}});
  EXPECT_EQ(show(tokens, "axb"), "a|[2]|b");
  EXPECT_EQ(show(AddedTokens({}), "abc"), "abc");
}

TEST(AddedTokens, EqualASlowSearch) {
  std::mt19937 random(5);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::string> texts;
    const auto word = [&](size_t longest) {
      std::string out;
      for (size_t i = 0; i < 1 + random() % longest; ++i) {
        out += static_cast<char>("ab\xC3"[random() % 3]);
      }
      return out;
    };
    for (size_t i = 0; i < 1 + random() % 6; ++i) {
      texts.push_back(word(4));
    }
    std::vector<AddedToken> list;
    for (size_t i = 0; i < texts.size(); ++i) {
      list.push_back({.id = static_cast<TokenId>(i), .text = texts[i]});
    }
    const std::string text = word(30);
    std::string expected;
    std::string plain;
    const auto put = [&](const std::string& part) {
      expected += (expected.empty() ? "" : "|") + part;
    };
    for (size_t at = 0; at < text.size();) {
      size_t best = texts.size();
      for (size_t i = 0; i < texts.size(); ++i) {
        if (text.compare(at, texts[i].size(), texts[i]) == 0 &&
            (best == texts.size() || texts[i].size() > texts[best].size())) {
          best = i;
        }
      }
      if (best == texts.size()) {
        plain += text[at++];
        continue;
      }
      if (!plain.empty()) {
        put(plain);
        plain.clear();
      }
      put("[" + std::to_string(best) + "]");
      at += texts[best].size();
    }
    if (!plain.empty()) {
      put(plain);
    }
    ASSERT_EQ(show(AddedTokens(list), text), expected);
  }
}

}  // namespace
}  // namespace fathom::codec
