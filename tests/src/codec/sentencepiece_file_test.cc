// tokenizer.model files written field by field: what each setting does, and what is refused.
// Called by ctest. Read next: src/codec/sentencepiece_file.cc.
#include "codec/sentencepiece_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "support/error_check.h"

namespace fathom::codec {
namespace {

using Ids = std::vector<TokenId>;

std::string varint(uint64_t number) {
  std::string out;
  for (; number >= 0x80; number >>= 7) {
    out += static_cast<char>((number & 0x7F) | 0x80);
  }
  return out += static_cast<char>(number);
}

std::string number_field(uint32_t field, int64_t value) {
  return varint(field << 3) + varint(static_cast<uint64_t>(value));
}

std::string bytes_field(uint32_t field, std::string_view bytes) {
  return varint(field << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}

std::string float_field(uint32_t field, float value) {
  std::string bytes(4, '\0');
  std::memcpy(bytes.data(), &value, 4);
  return varint(field << 3 | 5) + bytes;
}

std::string piece(std::string_view text, float score, int64_t kind = 1) {
  return bytes_field(1, bytes_field(1, text) + float_field(2, score) + number_field(3, kind));
}

constexpr int64_t kUnigram = 1;
constexpr int64_t kBpe = 2;

// <unk>, <s>, </s>, then pieces of a, b and blanks.
std::string model(int64_t type, const std::string& trainer = {},
                  const std::string& normalizer = {}) {
  return piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3) + piece("\u2581", -1) +
         piece("a", -2) + piece("b", -3) + piece("ab", -0.5f) + piece("\u2581a", -0.25f) +
         bytes_field(2, number_field(3, type) + trainer) +
         bytes_field(3, bytes_field(1, "identity") + number_field(4, 0) + normalizer);
}

TextTokenizer open(const std::string& bytes) {
  return TextTokenizer(read_sentencepiece_model(bytes, "t.model"));
}

TEST(SentencePieceFile, ReadsPiecesAndIds) {
  const TextTokenizer bpe = open(model(kBpe));
  EXPECT_EQ(bpe.vocabulary().texts.size(), 8u);
  EXPECT_EQ(bpe.vocabulary().bos, 1);
  EXPECT_EQ(bpe.vocabulary().eos, 2);
  EXPECT_EQ(bpe.vocabulary().unk, 0);
  EXPECT_EQ(bpe.encode("a", {.add_special = true}), (Ids{1, 7}));
  EXPECT_EQ(bpe.encode("ab", {}), (Ids{7, 5}));  // the better pair goes first
  EXPECT_EQ(bpe.encode("bab", {}), (Ids{3, 5, 6}));
  EXPECT_EQ(bpe.decode(Ids{1, 7, 5, 3, 6}, false), "ab ab");
  EXPECT_EQ(bpe.decode(Ids{0}, false), " \u2047 ");
  const TextTokenizer unigram = open(model(kUnigram));
  EXPECT_EQ(unigram.encode("ab", {}), (Ids{3, 6}));  // -1 - 0.5 against -0.25 - 3
}

TEST(SentencePieceFile, TheNormalizersSettings) {
  EXPECT_EQ(open(model(kBpe, {}, number_field(3, 0))).encode("a", {}), Ids{4});  // no dummy prefix
  EXPECT_EQ(open(model(kBpe, {}, number_field(4, 1))).encode("  a  ", {}), Ids{7});
  EXPECT_EQ(open(model(kBpe)).encode(" a ", {}), (Ids{3, 7, 3}));
}

TEST(SentencePieceFile, WithoutBosTheEndIsMarked) {
  const TextTokenizer tokenizer = open(model(kBpe, number_field(41, -1)));
  EXPECT_EQ(tokenizer.vocabulary().bos, std::nullopt);
  EXPECT_EQ(tokenizer.encode("a", {.add_special = true}), (Ids{7, 2}));
}

TEST(SentencePieceFile, UserDefinedPiecesStayWhole) {
  const TextTokenizer tokenizer = open(model(kBpe) + piece("<x>", 0, 4) + piece("a<", 5));
  EXPECT_EQ(tokenizer.encode("a<x>", {}), (Ids{7, 8}));
}

void expect_refused(const std::string& bytes, ErrorCode code, std::string_view says) {
  fathom::test::expect_error([&] { read_sentencepiece_model(bytes, "t.model"); }, code,
                             {"t.model", says});
}

TEST(SentencePieceFile, RefusesWhatItCannotRead) {
  constexpr auto kCorrupt = ErrorCode::kCorruptFile;
  expect_refused("", kCorrupt, "no pieces");
  expect_refused(piece("", 0), kCorrupt, "piece 0 is empty");
  expect_refused(piece("\xFF", 0), kCorrupt, "piece 0 is not valid UTF-8");
  expect_refused(piece("a", 0, 7), kCorrupt, "the kind 7");
  expect_refused(piece("a", 0, 0), kCorrupt, "the kind 0");
  expect_refused(piece("a", std::nanf("")), kCorrupt, "the score nan");
  expect_refused(piece("<0xZZ>", 0, 6), kCorrupt, "expected <0x00> to <0xFF>");
  expect_refused(model(kBpe).substr(0, 40), kCorrupt, "byte ");
  expect_refused(model(3), ErrorCode::kUnsupported, "model type 3 (word)");
  expect_refused(model(4), ErrorCode::kUnsupported, "model type 4 (char)");
  expect_refused(model(kBpe) + bytes_field(5, bytes_field(2, "x")), ErrorCode::kUnsupported,
                 "denormalizer");
  expect_refused(model(kBpe, {}, bytes_field(2, "abcdefgh")), kCorrupt, "character map");
}

}  // namespace
}  // namespace fathom::codec
