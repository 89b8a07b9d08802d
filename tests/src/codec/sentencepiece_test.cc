// Byte fallback, unknown runs, unused pieces, and cuts between words that change no id.
// Called by ctest. Read next: tests/src/codec/tokenizer_test.cc, the cases against the reference.
#include "codec/sentencepiece.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/codec/test_vocabulary.h"

namespace fathom::codec {
namespace {

using test::make_piece_vocabulary;
using test::Metadata;

const std::string kBlank = "\xE2\x96\x81";

std::vector<TokenId> encode(const Tokenizer& tokenizer, std::string_view text) {
  return tokenizer.encode(text, EncodeOptions{});
}

TEST(SentencePiece, FallsBackToBytesThenToUnknown) {
  const std::string blank = "\xE2\x96\x81";
  Metadata metadata = make_piece_vocabulary({"a", blank, blank + "a"});
  const auto tokenizer = make_tokenizer(metadata);
  EXPECT_EQ(encode(*tokenizer, "a"), (std::vector<TokenId>{261}));
  EXPECT_EQ(encode(*tokenizer, "\xC3\xA9"), (std::vector<TokenId>{260, 3 + 0xC3, 3 + 0xA9}));
  EXPECT_EQ(tokenizer->decode(encode(*tokenizer, " a"), true), " a");
  // Without byte tokens a run of unknown characters is one <unk>.
  metadata.set("tokenizer.ggml.token_type", std::vector<int64_t>(262, 1));
  EXPECT_EQ(encode(*make_tokenizer(metadata),
                   "\xC3\xA9\xC3\xA8"
                   "a"),
            (std::vector<TokenId>{260, 0, 259}));
}

TEST(SentencePiece, HighestScoreFirstThenLeftmost) {
  // "ab" outranks "bc" and "cd"; of the equal "aa" pairs in "aaa" the left one is taken.
  const auto tokenizer =
      make_tokenizer(make_piece_vocabulary({"ab", "cd", "bc", "aa", "a", "b", "c", "d", kBlank}));
  EXPECT_EQ(encode(*tokenizer, "abcd"), (std::vector<TokenId>{267, 259, 260}));
  EXPECT_EQ(encode(*tokenizer, "aaa"), (std::vector<TokenId>{267, 262, 263}));
}

TEST(SentencePiece, AnUnusedPieceIsTakenApart) {
  Metadata metadata = make_piece_vocabulary({"ab", "abc", "a", "b", "c", kBlank});
  std::vector<int64_t> kinds = *metadata.find_ints("tokenizer.ggml.token_type");
  kinds[260] = 5;  // "abc"
  metadata.set("tokenizer.ggml.token_type", kinds);
  EXPECT_EQ(encode(*make_tokenizer(metadata), "abc"), (std::vector<TokenId>{264, 259, 263}));
  kinds[259] = 5;  // "ab" too
  metadata.set("tokenizer.ggml.token_type", kinds);
  EXPECT_EQ(encode(*make_tokenizer(metadata), "abc"), (std::vector<TokenId>{264, 261, 262, 263}));
}

TEST(SentencePiece, APieceMayReachOverABlank) {
  // "a▁b" joins two words, so the text may not be cut between them.
  const auto tokenizer =
      make_tokenizer(make_piece_vocabulary({"a" + kBlank, "a" + kBlank + "b", kBlank, "a", "b"}));
  EXPECT_EQ(encode(*tokenizer, "a b"), (std::vector<TokenId>{261, 260}));
  EXPECT_EQ(encode(*tokenizer, "b b"), (std::vector<TokenId>{261, 263, 261, 263}));
}

TEST(SentencePiece, BlanksStoredAsBlanksAreFoundToo) {
  Metadata metadata = make_piece_vocabulary({"  ", kBlank, "a"});
  EXPECT_EQ(encode(*make_tokenizer(metadata), " a"), (std::vector<TokenId>{259, 261}));
}

}  // namespace
}  // namespace fathom::codec
