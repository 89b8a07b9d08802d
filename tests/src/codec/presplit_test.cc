// Words cut by hand for each rule.
// Called by ctest. Read next: codec/presplit.cc.
#include "codec/presplit.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fathom::codec {
namespace {

using Words = std::vector<std::string>;

Words split(SplitRule rule, const std::string& text) {
  std::vector<std::string_view> pieces;
  PreSplitter(rule).split(text, pieces);
  return Words(pieces.begin(), pieces.end());
}

TEST(PreSplit, Words) {
  EXPECT_EQ(split(SplitRule::kWords, "I'm 12  x!?"), (Words{"I", "'m", " 12", " ", " x", "!?"}));
  EXPECT_EQ(split(SplitRule::kWords, "a \n"), (Words{"a", " \n"}));
  EXPECT_EQ(split(SplitRule::kWords, ""), (Words{}));
}

TEST(PreSplit, WordsDigits) {
  EXPECT_EQ(split(SplitRule::kWordsDigits, "ab 12"), (Words{"ab", " ", "1", "2"}));
}

TEST(PreSplit, DigitsOverTheByteAlphabet) {
  EXPECT_EQ(split(SplitRule::kWordsBytesDigits, "x12345"), (Words{"x", "123", "45"}));
  EXPECT_EQ(split(SplitRule::kWordsBytesDigits, "a,(b"), (Words{"a", ",(", "b"}));
  // C3 BC: the byte BC is a number in the byte alphabet, so the letter is cut in two.
  EXPECT_EQ(split(SplitRule::kWordsBytesDigits, "\xC3\xBC"), (Words{"\xC3", "\xBC"}));
}

TEST(PreSplit, Lines) {
  EXPECT_EQ(split(SplitRule::kLinesDigits1, "it'S 12!\n\n x"),
            (Words{"it", "'S", " ", "1", "2", "!\n\n", " x"}));
  EXPECT_EQ(split(SplitRule::kLinesDigits3, "12345"), (Words{"123", "45"}));
  EXPECT_EQ(split(SplitRule::kLinesDigits3, "'\xC5\xBF"), (Words{"'\xC5\xBF"}));  // long s
  EXPECT_EQ(split(SplitRule::kLinesDigits1, "e\xCC\x81x"), (Words{"e", "\xCC\x81x"}));
  EXPECT_EQ(split(SplitRule::kLinesMarksDigits1, "e\xCC\x81x"), (Words{"e\xCC\x81x"}));
}

TEST(PreSplit, WhiteSpaceIsUnicodes) {
  // U+0085 and U+3000 are white space, U+180E and U+200B are not.
  EXPECT_EQ(split(SplitRule::kWords, "a\xC2\x85\xE3\x80\x80"),
            (Words{"a", "\xC2\x85\xE3\x80\x80"}));
  EXPECT_EQ(split(SplitRule::kWords, " \xE1\xA0\x8E"), (Words{" \xE1\xA0\x8E"}));
  EXPECT_EQ(split(SplitRule::kWords, " \xE2\x80\x8B"), (Words{" \xE2\x80\x8B"}));
}

TEST(PreSplit, Case) {
  EXPECT_EQ(split(SplitRule::kCaseDigits3, "camelCaseHTTPServer's"),
            (Words{"camel", "Case", "HTTPServer's"}));
  EXPECT_EQ(split(SplitRule::kCaseDigits1, "it's 12"), (Words{"it", "'s", " ", "1", "2"}));
  EXPECT_EQ(split(SplitRule::kCaseDigits3, "//\n/x"), (Words{"//\n/", "x"}));
}

TEST(PreSplit, Scripts) {
  EXPECT_EQ(split(SplitRule::kScriptsDigitRuns, "ab 12,\n"), (Words{"ab", " ", "12", ",", "\n"}));
  EXPECT_EQ(split(SplitRule::kScriptsDigits1, "ab 12"), (Words{"ab", " ", "1", "2"}));
  EXPECT_EQ(split(SplitRule::kScriptsDigitRuns, "x  "), (Words{"x", "  "}));
  // U+4F60 and the letter a: CJK apart from Latin.
  EXPECT_EQ(split(SplitRule::kScriptsDigitRuns, "a\xE4\xBD\xA0"), (Words{"a", "\xE4\xBD\xA0"}));
  EXPECT_EQ(split(SplitRule::kCjkMarksDigits3, "a1234\xE4\xBD\xA0.b"),
            (Words{"a", "123", "4", "\xE4\xBD\xA0", ".b"}));
}

TEST(PreSplit, PiecesAreTheText) {
  const std::string text = "x 1 \xF0\x9F\x98\x80'll\r\n\t\xC3\xBC\xE4\xBD\xA0 ...  ";
  for (int rule = 0; rule <= static_cast<int>(SplitRule::kCjkMarksDigits3); ++rule) {
    std::string joined;
    for (const std::string& word : split(static_cast<SplitRule>(rule), text)) {
      EXPECT_FALSE(word.empty());
      joined += word;
    }
    EXPECT_EQ(joined, text) << rule;
  }
}

}  // namespace
}  // namespace fathom::codec
