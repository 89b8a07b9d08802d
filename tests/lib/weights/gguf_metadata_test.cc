// Tests of weights/gguf_metadata: every value type, and every way in which an entry can be wrong.
#include "weights/gguf_metadata.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "support/error_check.h"
#include "support/gguf_builder.h"
#include "weights/gguf.h"

namespace fathom::weights {

namespace {

using test::expect_error;
using test::GgufBuilder;
using test::raw_bytes;
using test::raw_string;

void expect_corrupt(const GgufBuilder& file, std::initializer_list<std::string_view> parts) {
  expect_error([&] { (void)file.parse(); }, ErrorCode::kCorruptFile, parts);
}

TEST(GgufMetadata, ReadsEveryScalarType) {
  GgufBuilder file;
  file.set("u8", uint8_t{200}).set("i8", int8_t{-100}).set("u16", uint16_t{60000});
  file.set("i16", int16_t{-30000}).set("u32", uint32_t{4000000000U}).set("i32", int32_t{-5});
  file.set("f32", 1.5F).set("bool", true).set("text", "h\xc3\xa9llo").set("f64", -0.1);
  file.set("u64", std::numeric_limits<uint64_t>::max()).set("i64", int64_t{-1} << 62);
  const auto model = file.parse();
  const auto& entries = model->metadata.entries();
  EXPECT_EQ(entries.size(), 12U);
  EXPECT_EQ(entries.at("u8"), MetadataValue(int64_t{200}));
  EXPECT_EQ(entries.at("i8"), MetadataValue(int64_t{-100}));
  EXPECT_EQ(entries.at("u16"), MetadataValue(int64_t{60000}));
  EXPECT_EQ(entries.at("i16"), MetadataValue(int64_t{-30000}));
  EXPECT_EQ(entries.at("u32"), MetadataValue(int64_t{4000000000}));
  EXPECT_EQ(entries.at("i32"), MetadataValue(int64_t{-5}));
  EXPECT_EQ(entries.at("f32"), MetadataValue(1.5));
  EXPECT_EQ(entries.at("bool"), MetadataValue(true));
  EXPECT_EQ(entries.at("text"), MetadataValue(std::string("h\xc3\xa9llo")));
  EXPECT_EQ(entries.at("u64"), MetadataValue(std::numeric_limits<uint64_t>::max()));
  EXPECT_EQ(entries.at("i64"), MetadataValue(int64_t{-1} << 62));
  EXPECT_EQ(entries.at("f64"), MetadataValue(-0.1));
}

TEST(GgufMetadata, ReadsEveryArrayType) {
  GgufBuilder file;
  file.set("u8", std::vector<uint8_t>{1, 255}).set("i8", std::vector<int8_t>{-1, 1});
  file.set("u16", std::vector<uint16_t>{65535}).set("i16", std::vector<int16_t>{-2});
  file.set("u32", std::vector<uint32_t>{4000000000U}).set("i32", std::vector<int32_t>{-3, 3});
  file.set("u64", std::vector<uint64_t>{5}).set("i64", std::vector<int64_t>{-6});
  file.set("f32", std::vector<float>{0.5F}).set("f64", std::vector<double>{0.1, 0.2});
  file.set("bool", std::vector<bool>{true, false}).set("none", std::vector<int32_t>{});
  file.set("text", std::vector<std::string>{"", "a string longer than fifteen bytes"});
  const auto model = file.parse();
  const Metadata& metadata = model->metadata;
  EXPECT_EQ(*metadata.find_ints("u8"), (std::vector<int64_t>{1, 255}));
  EXPECT_EQ(*metadata.find_ints("i8"), (std::vector<int64_t>{-1, 1}));
  EXPECT_EQ(*metadata.find_ints("u16"), (std::vector<int64_t>{65535}));
  EXPECT_EQ(*metadata.find_ints("i16"), (std::vector<int64_t>{-2}));
  EXPECT_EQ(*metadata.find_ints("u32"), (std::vector<int64_t>{4000000000}));
  EXPECT_EQ(*metadata.find_ints("i32"), (std::vector<int64_t>{-3, 3}));
  EXPECT_EQ(*metadata.find_ints("u64"), (std::vector<int64_t>{5}));
  EXPECT_EQ(*metadata.find_ints("i64"), (std::vector<int64_t>{-6}));
  EXPECT_EQ(*metadata.find_doubles("f32"), (std::vector<double>{0.5}));
  EXPECT_EQ(*metadata.find_doubles("f64"), (std::vector<double>{0.1, 0.2}));
  EXPECT_EQ(*metadata.find_ints("bool"), (std::vector<int64_t>{1, 0}));
  EXPECT_TRUE(metadata.find_ints("none")->empty());
  EXPECT_EQ(*metadata.find_strings("text"),
            (std::vector<std::string>{"", "a string longer than fifteen bytes"}));
}

TEST(GgufMetadata, KeyLengthOfTwoToThe62InASmallFile) {
  // 24 bytes of header, then the key's length.
  auto bytes = GgufBuilder().set("k", uint8_t{1}).bytes();
  const auto length = raw_bytes(uint64_t{1} << 62);
  std::copy(length.begin(), length.end(), bytes.begin() + 24);
  bytes.resize(64);
  ModelFile out{Metadata(Source::kGguf, "m.gguf"), {}};
  expect_error([&] { parse_gguf(bytes, nullptr, out); }, ErrorCode::kCorruptFile,
               {"m.gguf: byte 24: key:", "length 4611686018427387904", "at most 32"});
}

TEST(GgufMetadata, StringLengthOfTwoToThe31InASmallFile) {
  std::vector<std::byte> raw = raw_bytes(uint64_t{1} << 31);
  raw.resize(160 - 24 - 8 - 1 - 4);
  expect_corrupt(GgufBuilder().set_raw("k", 8, raw),
                 {"byte 37: key \"k\", string: found length 2147483648"});
}

TEST(GgufMetadata, ArrayOfTwoToThe60Elements) {
  for (const uint32_t type : {0U, 4U, 7U, 8U, 12U}) {
    expect_corrupt(GgufBuilder().set_array("k", type, uint64_t{1} << 60, raw_string("abc")),
                   {"key \"k\", array length", "1152921504606846976", "at most"});
  }
}

TEST(GgufMetadata, NestedArraysAndUnknownTypes) {
  expect_corrupt(GgufBuilder().set_array("k", 9, 1, std::vector<std::byte>(32)),
                 {"key \"k\", array element type", "found ARRAY", "no nested arrays"});
  expect_corrupt(GgufBuilder().set_raw("k", 200, std::vector<std::byte>(32)),
                 {"type", "found 200", "0 to 12"});
  expect_corrupt(GgufBuilder().set_array("k", 13, 1, std::vector<std::byte>(32)),
                 {"found 13", "0 to 12"});
}

TEST(GgufMetadata, KeysStandOnceAndHaveNames) {
  expect_corrupt(GgufBuilder().set("k", uint8_t{1}).set("k", uint8_t{1}),
                 {"byte 38: key \"k\"", "second time", "once"});
  expect_corrupt(GgufBuilder().set("", uint16_t{1}), {"byte 24", "empty name"});
  expect_corrupt(GgufBuilder().set(std::string(70000, 'k'), uint8_t{1}),
                 {"length 70000", "at most 65535"});
}

TEST(GgufMetadata, BoolsAreZeroOrOne) {
  expect_corrupt(GgufBuilder().set_raw("k", 7, raw_bytes(uint8_t{2})),
                 {"key \"k\", bool", "found 2", "0 or 1"});
  expect_corrupt(GgufBuilder().set_array("k", 7, 2, raw_bytes(uint16_t{0x0301})),
                 {"bool", "found 3"});
}

TEST(GgufMetadata, UnsignedArrayEntriesFitSixtyThreeBits) {
  expect_corrupt(GgufBuilder().set("k", std::vector<uint64_t>{1, uint64_t{1} << 63}),
                 {"array entry", "9223372036854775808", "below 2^63"});
}

TEST(GgufMetadata, KeysOfTheVocabularyHaveTheTypesOfTheFormat) {
  for (const char* key : {"tokenizer.ggml.scores", "tokenizer.ggml.token_type"}) {
    expect_corrupt(GgufBuilder().set(key, std::vector<uint8_t>{1, 2, 3}),
                   {key, "array element type", "found UINT8"});
    expect_corrupt(GgufBuilder().set(key, uint32_t{1}), {key, "type", "found UINT32", "ARRAY"});
  }
  expect_corrupt(GgufBuilder().set("tokenizer.ggml.tokens", std::vector<int32_t>{1}),
                 {"found INT32", "allowed STRING"});
  expect_corrupt(GgufBuilder().set("general.architecture", uint8_t{1}), {"found UINT8"});
  EXPECT_NO_THROW((void)GgufBuilder()
                      .set("tokenizer.ggml.token_type", std::vector<uint32_t>{1})
                      .set("tokenizer.ggml.scores", std::vector<float>{-1})
                      .parse());
}

// An array of one-byte integers takes eight times its size when decoded: refused before that.
TEST(GgufMetadata, DecodedMetadataIsBoundedByTheFile) {
  constexpr size_t kCount = size_t{8} << 20;
  expect_corrupt(GgufBuilder().set("k", std::vector<uint8_t>(kCount, 1)),
                 {"decoded metadata", "bytes", "at most"});
  std::vector<std::byte> empty_strings(kCount * 8 / 4);
  expect_corrupt(GgufBuilder().set_array("k", 8, kCount / 4, empty_strings), {"decoded metadata"});
  EXPECT_NO_THROW((void)GgufBuilder().set("k", std::vector<uint8_t>(kCount / 2, 1)).parse());
}

TEST(GgufMetadata, EveryTruncationIsAnErrorAndNoCrash) {
  GgufBuilder file;
  file.set("a", uint32_t{1}).set("b", std::vector<std::string>{"x", "yz"}).set("c", 1.0);
  file.set("d", std::vector<bool>{true}).set("e", "text").set("f", std::vector<int16_t>{1, 2});
  const auto whole = file.bytes();
  for (size_t n = 0; n < whole.size(); ++n) {
    const std::vector<std::byte> part(whole.begin(), whole.begin() + static_cast<int64_t>(n));
    ModelFile out{Metadata(Source::kGguf, "m.gguf"), {}};
    expect_error([&] { parse_gguf(part, nullptr, out); }, ErrorCode::kCorruptFile,
                 {"m.gguf: byte "});
  }
}

}  // namespace

}  // namespace fathom::weights
