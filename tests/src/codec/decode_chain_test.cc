// Every decoding step, on whole tokens and on parts: what comes out id by id is the text of the
// whole. Expected texts follow from the steps' definitions, written down by hand. Called by ctest.
// Read next: src/codec/decode_chain.cc.
#include "codec/decode_chain.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace fathom::codec {
namespace {

using Texts = std::vector<std::string>;

DecodeChain make_chain(std::vector<DecodeStepPtr> steps, const Texts& texts) {
  return {std::move(steps), texts.size(), [&](size_t id, std::string& out) { out += texts[id]; }};
}

// The tokens decoded in their order; checks that streaming gives valid beginnings of the same.
template <class... Step>
std::string decode(const Texts& tokens, bool at_start, Step... step) {
  std::vector<DecodeStepPtr> steps;
  (steps.push_back(std::move(step)), ...);
  const DecodeChain chain = make_chain(std::move(steps), tokens);
  std::string text;
  DecodeChain::Flow flow(chain, at_start);
  for (size_t id = 0; id < tokens.size(); ++id) {
    flow.push(static_cast<TokenId>(id), text);
  }
  flow.finish(text);
  return text;
}

template <class... Step>
std::string decode(const Texts& tokens, Step... step) {
  return decode(tokens, true, std::move(step)...);
}

TEST(DecodeChain, WithoutStepsJoinsTheTokens) {
  EXPECT_EQ(decode({"a", "", "b"}), "ab");
}

TEST(DecodeChain, ReplaceWorksWithinTokensUntilTheyAreFused) {
  EXPECT_EQ(decode({"a-", "-b--"}, make_decode_replace("--", "+")), "a--b+");
  EXPECT_EQ(decode({"a-", "-b--"}, make_decode_fuse(), make_decode_replace("--", "+")), "a+b+");
  EXPECT_EQ(decode({"a"}, make_decode_replace("", "+")), "a");
}

TEST(DecodeChain, ReplacePatternWaitsForAFusedToken) {
  EXPECT_EQ(decode({"aa", "ab"}, make_decode_replace_pattern(Pattern("a+"), "x")), "xxb");
  EXPECT_EQ(
      decode({"aa", "ab"}, make_decode_fuse(), make_decode_replace_pattern(Pattern("a+"), "x")),
      "xb");
}

TEST(DecodeChain, BytesOfACharacterWaitForEachOther) {
  const std::string two = "\u00c3";  // letters of the byte alphabet for 0xC3 and 0xA9: é
  EXPECT_EQ(decode({"a", "\u00c3", "\u00a9", "\u0120b"}, make_decode_byte_level(),
                   make_decode_repair(false)),
            "a\u00e9 b");
  EXPECT_EQ(decode({two, "x"}, make_decode_byte_level(), make_decode_repair(false)), "\uFFFDx");
  EXPECT_EQ(decode({two}, make_decode_byte_level(), make_decode_repair(false)), "\uFFFD");
  // A text that is not spelled in the byte alphabet stays as it is.
  EXPECT_EQ(decode({"<\u4f60>"}, make_decode_byte_level(), make_decode_repair(false)), "<\u4f60>");
}

TEST(DecodeChain, RepairMarksSubpartsOrBytes) {
  const Texts cut = {"\xE4\xBD", "x", "\xFF\xFE"};
  EXPECT_EQ(decode(cut, make_decode_repair(false)), "\uFFFDx\uFFFD\uFFFD");
  EXPECT_EQ(decode(cut, make_decode_repair(true)), "\uFFFD\uFFFDx\uFFFD\uFFFD");
}

TEST(DecodeChain, ByteFallbackJudgesARunAsAWhole) {
  EXPECT_EQ(decode({"a", "<0xC3>", "<0xA9>", "b"}, make_decode_byte_fallback()), "a\u00e9b");
  EXPECT_EQ(decode({"<0xC3>", "<0xA9>", "<0xC3>", "b"}, make_decode_byte_fallback()),
            "\uFFFD\uFFFD\uFFFDb");
  EXPECT_EQ(decode({"<0xC3>"}, make_decode_byte_fallback()), "\uFFFD");
  EXPECT_EQ(decode({"<0xG3>", "<0x1>"}, make_decode_byte_fallback()), "<0xG3><0x1>");
}

TEST(DecodeChain, StripTakesFromEveryTokenOrFromTheWhole) {
  EXPECT_EQ(decode({"  a", " b "}, make_decode_strip(' ', 1, 0)), " ab ");
  EXPECT_EQ(decode({"  a", " b "}, make_decode_strip(' ', 1, 1)), " ab");
  EXPECT_EQ(decode({" ", " ", "a ", " "}, make_decode_fuse(), make_decode_strip(' ', 1, 1)), " a ");
  EXPECT_EQ(decode({"  a"}, false, make_decode_fuse(), make_decode_strip(' ', 1, 0)), "  a");
  EXPECT_EQ(decode({"\u2581", "a"}, make_decode_fuse(), make_decode_strip(U'\u2581', 3, 0)), "a");
}

TEST(DecodeChain, MetaspaceDropsTheFirstBlankOfAText) {
  EXPECT_EQ(decode({"_a", "_b", "c_"}, make_decode_metaspace("_", true)), "a bc ");
  EXPECT_EQ(decode({"_a", "_b"}, make_decode_metaspace("_", false)), " a b");
  EXPECT_EQ(decode({"_a", "_b"}, false, make_decode_metaspace("_", true)), " a b");
}

TEST(DecodeChain, WordPieceJoinsAndCleansUp) {
  EXPECT_EQ(decode({"it", "'", "##s", "fine", "."}, make_decode_word_piece("##", false)),
            "it 's fine .");
  EXPECT_EQ(decode({"it", "'s", "fine", ".", "i", "do", "n't"}, make_decode_word_piece("##", true)),
            "it's fine. i don't");
  EXPECT_EQ(decode({"##a", "##b"}, make_decode_word_piece("##", true)), "##ab");
}

TEST(DecodeChain, ASuffixIsABlankButNotAtTheEnd) {
  EXPECT_EQ(decode({"a</w>", "b", "c</w>"}, make_decode_suffix("</w>")), "a bc");
  EXPECT_EQ(decode({"a"}, make_decode_suffix("")), "a");
}

TEST(DecodeChain, CtcDropsRepeatsAndPads) {
  EXPECT_EQ(decode({"h", "h", "<pad>", "h", "|", "|", "i"}, make_decode_ctc("<pad>", "|", true)),
            "hh i");
  EXPECT_EQ(decode({"h", "|", "i"}, make_decode_ctc("<pad>", "|", false)), "h|i");
}

TEST(DecodeChain, JoinPutsABlankBetweenTokens) {
  EXPECT_EQ(decode({"a", "", "b"}, make_decode_join()), "a  b");
  EXPECT_EQ(decode({"a", "b"}, false, make_decode_join()), " a b");
}

TEST(DecodeChain, TheFirstBlankGoesOnceOrAsLongAsThereIsNothingElse) {
  EXPECT_EQ(decode({" ", " a", " b"}, make_decode_first_blank(false)), " a b");
  EXPECT_EQ(decode({" ", " a", " b"}, make_decode_first_blank(true)), "a b");
  EXPECT_EQ(decode({" x "}, make_decode_first_blank(true, " x ")), " x ");
  EXPECT_EQ(decode({" a"}, false, make_decode_first_blank(true)), " a");
}

TEST(DecodeChain, BytesOfOneToken) {
  std::vector<DecodeStepPtr> steps;
  steps.push_back(make_decode_byte_level());
  steps.push_back(make_decode_repair(false));
  const DecodeChain bytes = make_chain(std::move(steps), Texts{"\u00c3", "\u0120a"});
  EXPECT_EQ(bytes.bytes_of(0), "\xC3");  // part of a character, not repaired
  EXPECT_EQ(bytes.bytes_of(1), " a");
  std::vector<DecodeStepPtr> words;
  words.push_back(make_decode_word_piece("##", false));
  const DecodeChain pieces = make_chain(std::move(words), Texts{"a", "##b"});
  EXPECT_EQ(pieces.bytes_of(0), " a");
  EXPECT_EQ(pieces.bytes_of(1), "b");
}

}  // namespace
}  // namespace fathom::codec
