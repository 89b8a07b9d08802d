// Tests of weights/byte_reader: reads, ends, counts and the form of its errors.
#include "weights/byte_reader.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "support/error_check.h"
#include "support/gguf_builder.h"

namespace fathom::weights {

namespace {

using test::expect_error;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(ByteReader, ReadsLittleEndianFieldsInOrder) {
  ByteReader reader(bytes_of(std::string_view("\x01\x02\x03\x04\xff\x00\x00\x80\x3f", 9)), "f");
  EXPECT_EQ(reader.read<uint32_t>("a"), 0x04030201U);
  EXPECT_EQ(reader.read<int8_t>("b"), -1);
  EXPECT_EQ(reader.offset(), 5U);
  EXPECT_EQ(reader.read<float>("c"), 1.0F);
  EXPECT_EQ(reader.remaining(), 0U);
}

TEST(ByteReader, AFieldPastTheEndNamesFileByteAndField) {
  ByteReader reader(bytes_of("abcde"), "some.gguf");
  reader.read<uint16_t>("first");
  expect_error([&] { reader.read<uint32_t>("second"); }, ErrorCode::kCorruptFile,
               {"some.gguf: byte 2: second: found 3 bytes", "allowed 4 bytes"});
  EXPECT_EQ(reader.offset(), 2U) << "a failed read must not move the cursor";
}

TEST(ByteReader, StringsAreCheckedAgainstFileAndLimit) {
  const auto good = test::raw_string("hello");
  EXPECT_EQ(ByteReader(good, "f").read_string(5, "s"), "hello");
  expect_error([&] { ByteReader(good, "f").read_string(4, "s"); }, ErrorCode::kCorruptFile,
               {"byte 0: s: found length 5", "at most 4"});
  const auto huge = test::raw_bytes(uint64_t{1} << 63);
  expect_error([&] { ByteReader(huge, "f").read_string(1000, "s"); }, ErrorCode::kCorruptFile,
               {"length 9223372036854775808", "at most 0"});
}

TEST(ByteReader, StartsWhereItIsTold) {
  ByteReader reader(bytes_of("abcde"), "f", 3);
  EXPECT_EQ(reader.remaining(), 2U);
  expect_error([&] { reader.read<uint32_t>("x"); }, ErrorCode::kCorruptFile, {"f: byte 3: x"});
}

TEST(ByteReader, LinesEndWithinTheirLimit) {
  ByteReader reader(bytes_of("ab\n\ncde"), "f");
  EXPECT_EQ(reader.read_line(2, "line"), "ab");
  EXPECT_EQ(reader.read_line(0, "line"), "");
  expect_error([&] { reader.read_line(9, "line"); }, ErrorCode::kCorruptFile,
               {"f: byte 4: line: found no end of line", "within 3 bytes"});
  EXPECT_EQ(reader.offset(), 4U);
  ByteReader longer(bytes_of("abc\n"), "f");
  expect_error([&] { longer.read_line(2, "line"); }, ErrorCode::kCorruptFile, {"within 2 bytes"});
}

TEST(ByteReader, CountsFitTheRestOfTheFile) {
  std::vector<std::byte> bytes = test::raw_bytes(uint64_t{3});
  bytes.resize(8 + 12);
  EXPECT_EQ(ByteReader(bytes, "f").read_count(4, "n"), 3U);
  expect_error([&] { ByteReader(bytes, "f").read_count(5, "n"); }, ErrorCode::kCorruptFile,
               {"byte 0: n: found 3", "at most 2 (12 bytes are left"});
}

TEST(ByteReader, QuotedTextStaysOnOneLineAndShort) {
  EXPECT_EQ(in_quotes("a\nb\"c\\d\x01"), R"("a\nb\"c\\d\x01")");
  EXPECT_EQ(in_quotes(std::string(300, 'x')).size(), 202 + std::string("... (300 bytes)").size());
}

TEST(ByteReader, SumsAndProductsTellWhenTheyDoNotFit) {
  uint64_t out = 0;
  EXPECT_TRUE(multiply_fits(1ULL << 32, (1ULL << 32) - 1, out));
  EXPECT_EQ(out, (1ULL << 32) * ((1ULL << 32) - 1));
  EXPECT_FALSE(multiply_fits(1ULL << 32, 1ULL << 32, out));
}

}  // namespace

}  // namespace fathom::weights
