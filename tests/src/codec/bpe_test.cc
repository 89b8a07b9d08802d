// Merging by hand: ranks, leftmost pairs, whole words, bytes that are missing.
// Called by ctest. Read next: tests/src/codec/tokenizer_test.cc, the cases against the reference.
#include "codec/bpe.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/codec/test_vocabulary.h"

namespace fathom::codec {
namespace {

using test::make_byte_vocabulary;
using test::Metadata;

std::vector<TokenId> encode(const Tokenizer& tokenizer, std::string_view text) {
  return tokenizer.encode(text, EncodeOptions{});
}

// Word length 32 is where the scan hands over to the heap: both sides must agree with the
// reference, which the case file covers; here a word that repeats one pair checks the leftmost rule
// by hand.
TEST(ByteLevel, MergesLeftmostFirstInShortAndLongWords) {
  Metadata metadata = make_byte_vocabulary({"aa", "aaa"}, {});
  metadata.set("tokenizer.ggml.merges", std::vector<std::string>{"a a", "aa a"});
  const auto tokenizer = make_tokenizer(metadata);
  EXPECT_EQ(encode(*tokenizer, "aaaaa"), (std::vector<TokenId>{256, 257}));
  std::vector<TokenId> expected(50, 256);
  expected.back() = 257;  // 101 letters: 49 pairs, then "aa" + "a"
  EXPECT_EQ(encode(*tokenizer, std::string(101, 'a')), expected);
}

TEST(ByteLevel, TheLowestRankGoesFirst) {
  Metadata metadata = make_byte_vocabulary({"bc", "ab"}, {});
  metadata.set("tokenizer.ggml.merges", std::vector<std::string>{"b c", "a b"});
  EXPECT_EQ(encode(*make_tokenizer(metadata), "abc"), (std::vector<TokenId>{'a', 256}));
  metadata.set("tokenizer.ggml.merges", std::vector<std::string>{"a b", "b c"});
  EXPECT_EQ(encode(*make_tokenizer(metadata), "abc"), (std::vector<TokenId>{257, 'c'}));
}

// An entry that merges do not reach is taken only by families that look words up first. Asking
// twice goes through what was remembered.
TEST(ByteLevel, WholeWordsOnlyWhereMergesAreIgnored) {
  Metadata metadata = make_byte_vocabulary({"abc"}, {});
  const auto merging = make_tokenizer(metadata);
  metadata.set("tokenizer.ggml.pre", std::string("llama-bpe"));
  const auto looking_up = make_tokenizer(metadata);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(encode(*merging, "abc"), (std::vector<TokenId>{'a', 'b', 'c'}));
    EXPECT_EQ(encode(*looking_up, "abc"), (std::vector<TokenId>{256}));
  }
}

TEST(ByteLevel, AControlTokenIsNoWord) {
  Metadata metadata = make_byte_vocabulary({}, {"abc"});
  metadata.set("tokenizer.ggml.pre", std::string("llama-bpe"));
  EXPECT_EQ(encode(*make_tokenizer(metadata), "abc"), (std::vector<TokenId>{'a', 'b', 'c'}));
}

TEST(ByteLevel, AMissingByteIsLeftOut) {
  Metadata metadata = make_byte_vocabulary({}, {});
  std::vector<std::string> texts = *metadata.find_strings("tokenizer.ggml.tokens");
  texts['b'] = "<|none|>";
  metadata.set("tokenizer.ggml.tokens", texts);
  EXPECT_EQ(encode(*make_tokenizer(metadata), "abc"), (std::vector<TokenId>{'a', 'c'}));
}

TEST(ByteLevel, UserDefinedTokensAreStoredRaw) {
  Metadata metadata = make_byte_vocabulary({}, {"\xC3\xBC"});  // a u with dots
  std::vector<int64_t> kinds = *metadata.find_ints("tokenizer.ggml.token_type");
  kinds[256] = 4;
  metadata.set("tokenizer.ggml.token_type", kinds);
  std::vector<std::string> texts = *metadata.find_strings("tokenizer.ggml.tokens");
  texts[0xFC] = "<|none|>";  // the byte FC has the same text in the byte alphabet
  metadata.set("tokenizer.ggml.tokens", texts);
  const auto tokenizer = make_tokenizer(metadata);
  EXPECT_EQ(encode(*tokenizer, "x\xC3\xBC"), (std::vector<TokenId>{'x', 256}));
  EXPECT_EQ(tokenizer->decode(std::vector<TokenId>{256}, false), "\xC3\xBC");
}

}  // namespace
}  // namespace fathom::codec
