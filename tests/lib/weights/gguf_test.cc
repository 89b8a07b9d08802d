// Tests of weights/gguf: header, tensor table and data ranges, whole and broken.
#include "weights/gguf.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdint>
#include <random>

#include "quant/formats.h"
#include "support/error_check.h"
#include "support/gguf_builder.h"
#include "support/temp_folder.h"
#include "weights/gguf_split.h"

namespace fathom::weights {

namespace {

using test::expect_error;
using test::GgufBuilder;
using test::GgufTensor;

void expect_corrupt(const GgufBuilder& file, std::initializer_list<std::string_view> parts) {
  expect_error([&] { (void)file.parse(); }, ErrorCode::kCorruptFile, parts);
}

void expect_unsupported(const GgufBuilder& file, std::initializer_list<std::string_view> parts) {
  expect_error([&] { (void)file.parse(); }, ErrorCode::kUnsupported, parts);
}

// A row of four F32 values, to be broken.
GgufTensor four_floats(std::string name = "w") {
  GgufTensor tensor;
  tensor.name = std::move(name);
  tensor.dims = {4};
  tensor.bytes.resize(16);
  return tensor;
}

TEST(Gguf, ReadsTensorsWithShapesReversed) {
  const test::TempFolder folder;
  GgufBuilder file;
  file.set("general.architecture", "llama");
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  file.add_tensor("matrix", std::vector<int64_t>{2, 3}, values);
  file.add_tensor("blocks", DType::kQ4_0, std::vector<int64_t>{2, 64},
                  std::vector<std::byte>(72, std::byte{7}));
  file.add_tensor("mxfp4", DType::kMXFP4, std::vector<int64_t>{2, 32},
                  std::vector<std::byte>(34, std::byte{7}));
  const auto model = open_gguf(file.write(folder.path_of("m.gguf")));
  EXPECT_EQ(model->tensors.find("mxfp4")->type, DType::kMXFP4);
  EXPECT_EQ(model->metadata.get_string("general.architecture"), "llama");
  EXPECT_EQ(model->metadata.path(), folder.path_of("m.gguf"));
  const FileTensor* matrix = model->tensors.find("matrix");
  ASSERT_NE(matrix, nullptr);
  EXPECT_EQ(matrix->type, DType::kF32);
  EXPECT_EQ(matrix->shape, (std::vector<int64_t>{2, 3}));
  ASSERT_EQ(matrix->bytes.size(), 24U);
  EXPECT_EQ(std::memcmp(matrix->bytes.data(), values.data(), 24), 0);
  const FileTensor* blocks = model->tensors.find("blocks");
  ASSERT_NE(blocks, nullptr);
  EXPECT_EQ(blocks->bytes.size(), 72U);
  EXPECT_EQ(blocks->bytes[71], std::byte{7});
}

TEST(Gguf, EveryTensorTypeThatGgufHasIsRead) {
  GgufBuilder file;
  std::vector<DType> types;
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto type = static_cast<DType>(i);
    if (quant::format_of(type).ggml_type < 0) {
      continue;
    }
    types.push_back(type);
    const auto n_bytes = static_cast<size_t>(2 * quant::row_bytes(type, 256));
    file.add_tensor(name_of(type), type, std::vector<int64_t>{2, 256},
                    std::vector<std::byte>(n_bytes));
  }
  EXPECT_EQ(types.size(), 21U);
  const auto model = file.parse();
  for (const DType type : types) {
    ASSERT_NE(model->tensors.find(name_of(type)), nullptr);
    EXPECT_EQ(model->tensors.find(name_of(type))->type, type);
  }
}

TEST(Gguf, VersionsTwoAndThreeAndNoOther) {
  EXPECT_NO_THROW((void)GgufBuilder().version(2).parse());
  EXPECT_NO_THROW((void)GgufBuilder().version(3).parse());
  for (const uint32_t version : {0U, 1U, 4U, 99U}) {
    expect_unsupported(GgufBuilder().version(version),
                       {"byte 4: version: found " + std::to_string(version), "2 or 3"});
  }
  expect_unsupported(GgufBuilder().version(0x03000000U), {"byte 4", "big-endian", "little endian"});
  expect_unsupported(GgufBuilder().version(0x02000000U), {"big-endian"});
}

TEST(Gguf, ForeignAndShortFiles) {
  expect_corrupt(GgufBuilder().magic("GGUX"), {"byte 0: magic: found \"GGUX\"", "\"GGUF\""});
  const test::TempFolder folder;
  const auto whole = GgufBuilder().bytes();
  for (const size_t n : {3U, 23U}) {
    const auto path = folder.write("m.gguf", std::span(whole).first(n));
    expect_error([&] { open_gguf(path); }, ErrorCode::kCorruptFile, {"m.gguf: byte ", "cut off"});
  }
  const auto empty = folder.write("empty.gguf", "");
  expect_error([&] { open_gguf(empty); }, ErrorCode::kCorruptFile, {"empty.gguf", "empty"});
  expect_error([&] { open_gguf(folder.path()); }, ErrorCode::kInvalidArgument, {"folder"});
  const auto fifo = folder.path_of("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  expect_error([&] { open_gguf(fifo); }, ErrorCode::kInvalidArgument, {"FIFO"});
}

TEST(Gguf, AbsurdCounts) {
  expect_corrupt(GgufBuilder().claim_n_tensors(uint64_t{1} << 63),
                 {"byte 8: n_tensors: found 9223372036854775808"});
  expect_corrupt(GgufBuilder().claim_n_keys(uint64_t{1} << 63),
                 {"byte 16: n_kv: found 9223372036854775808"});
  expect_corrupt(GgufBuilder().add_tensor(four_floats()).claim_n_tensors(2), {"n_tensors"});
}

TEST(Gguf, AlignmentIsAPowerOfTwoInUint32) {
  for (const uint32_t alignment : {0U, 3U, 1U, 4U, 24U, 1U << 31, 1U << 17}) {
    expect_corrupt(GgufBuilder().set("general.alignment", alignment),
                   {"general.alignment", "found " + std::to_string(alignment), "power of two"});
  }
  expect_corrupt(GgufBuilder().set("general.alignment", int32_t{32}),
                 {"general.alignment", "found INT32", "UINT32"});
  for (const uint32_t alignment : {8U, 32U, 4096U}) {
    const auto file =
        GgufBuilder().align(alignment).add_tensor(four_floats("a")).add_tensor(four_floats("b"));
    const auto model = file.parse();
    const auto* a = model->tensors.find("a")->bytes.data();
    const auto* b = model->tensors.find("b")->bytes.data();
    EXPECT_EQ(b - a, std::max<int64_t>(alignment, 16));
  }
}

TEST(Gguf, DimensionsAreCountedAndBounded) {
  for (const uint32_t n_dims : {0U, 5U, 9U, 1U << 31}) {
    GgufTensor tensor = four_floats();
    tensor.n_dims = n_dims;
    expect_corrupt(GgufBuilder().add_tensor(tensor),
                   {"tensor \"w\", n_dims: found " + std::to_string(n_dims), "1 to 4"});
  }
  for (const int64_t dim : {int64_t{0}, int64_t{-1}, (int64_t{1} << 42) + 1}) {
    GgufTensor tensor = four_floats();
    tensor.dims = {4, static_cast<uint64_t>(dim)};
    expect_corrupt(GgufBuilder().add_tensor(tensor),
                   {"tensor \"w\", dimension 1: found " + std::to_string(dim), "1 to "});
  }
}

TEST(Gguf, ProductsOfDimensionsDoNotWrap) {
  GgufTensor tensor = four_floats();
  tensor.dims = {uint64_t{1} << 32, uint64_t{1} << 32};  // 2^66 bytes: 0 when wrapped
  expect_corrupt(GgufBuilder().add_tensor(tensor),
                 {"tensor \"w\", shape: found shape [4294967296, 4294967296]", "2^63"});
  tensor.dims.assign(4, uint64_t{1} << 40);
  expect_corrupt(GgufBuilder().add_tensor(tensor), {"2^63"});
}

TEST(Gguf, TypesAreKnownOrRefusedByName) {
  GgufTensor tensor = four_floats();
  tensor.type = 255;
  expect_corrupt(GgufBuilder().add_tensor(tensor), {"tensor \"w\", type: found 255"});
  tensor.type = 16;
  expect_unsupported(GgufBuilder().add_tensor(tensor), {"found IQ2_XXS (16)", "another"});
  tensor.type = 2;  // Q4_0
  expect_corrupt(GgufBuilder().add_tensor(tensor),
                 {"rows of 4 values", "a multiple of 32, the block of Q4_0"});
}

TEST(Gguf, OffsetsAreAlignedInsideAndApart) {
  GgufTensor tensor = four_floats();
  tensor.offset = 4;
  expect_corrupt(GgufBuilder().add_tensor(tensor),
                 {"tensor \"w\", offset: found 4", "a multiple of the alignment 32"});
  for (const uint64_t offset : {uint64_t{32}, uint64_t{1} << 40, ~uint64_t{31}}) {
    tensor.offset = offset;
    expect_corrupt(GgufBuilder().add_tensor(tensor),
                   {"tensor \"w\", offset: found " + std::to_string(offset), "data bytes after"});
  }
  GgufTensor other = four_floats("v");
  other.offset = 0;
  expect_corrupt(GgufBuilder().add_tensor(four_floats()).add_tensor(other),
                 {"offset", "reaches to there", "\"v\"", "\"w\""});
}

TEST(Gguf, DataShortByOneByte) {
  const test::TempFolder folder;
  auto bytes = GgufBuilder().add_tensor(four_floats()).bytes();
  bytes.pop_back();
  const auto path = folder.write("short.gguf", bytes);
  expect_error(
      [&] { open_gguf(path); }, ErrorCode::kCorruptFile,
      {"short.gguf: byte ", "tensor \"w\", offset: found 0 with 16 bytes", "the 15 data bytes"});
}

TEST(Gguf, CutOffAnywhere) {
  GgufBuilder file;
  file.set("a", uint32_t{1}).add_tensor(four_floats("v")).add_tensor(four_floats("w"));
  const auto whole = file.bytes();
  for (size_t size = 0; size < whole.size(); ++size) {
    SCOPED_TRACE(size);
    const std::vector<std::byte> bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
    ModelFile out{Metadata(Source::kGguf, "m.gguf"), {}};
    expect_error([&] { parse_gguf(bytes, nullptr, out); }, ErrorCode::kCorruptFile,
                 {"m.gguf: byte "});
  }
}

TEST(Gguf, TensorNamesStandOnceAndAreBounded) {
  expect_corrupt(GgufBuilder().add_tensor(four_floats()).add_tensor(four_floats()),
                 {"tensor \"w\"", "second time"});
  expect_corrupt(GgufBuilder().add_tensor(four_floats("")), {"tensor name", "empty"});
  expect_corrupt(GgufBuilder().add_tensor(four_floats(std::string(256, 'n'))),
                 {"length 256", "at most 255"});
}

TEST(Gguf, TablesAreBoundedByTheFile) {
  GgufBuilder file;
  for (int i = 0; i < 100'000; ++i) {
    GgufTensor tensor;
    tensor.name = std::to_string(i);
    tensor.dims = {1};
    tensor.offset = 0;
    file.add_tensor(tensor);
  }
  expect_corrupt(file, {"decoded metadata", "at most"});
}

// Whatever stands in the file, it is read or refused with one of two codes, and quickly.
TEST(Gguf, RandomByteFlipsNeverCrash) {
  GgufBuilder file;
  file.set("general.architecture", "llama").set("general.alignment", uint32_t{32});
  file.set("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "<s>"});
  file.set("tokenizer.ggml.scores", std::vector<float>{0, -1, -2});
  file.add_tensor(four_floats("token_embd.weight")).add_tensor(four_floats("output.weight"));
  const auto whole = file.bytes();
  std::mt19937 random(1);
  int n_refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    auto bytes = whole;
    for (uint32_t n = 0; n <= random() % 3; ++n) {
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    }
    ModelFile out{Metadata(Source::kGguf, "m.gguf"), {}};
    try {
      parse_gguf(bytes, nullptr, out);
    } catch (const Error& error) {
      ++n_refused;
      ASSERT_TRUE(error.code() == ErrorCode::kCorruptFile ||
                  error.code() == ErrorCode::kUnsupported)
          << error.what();
    }
  }
  EXPECT_GT(n_refused, 1000);
}

}  // namespace

}  // namespace fathom::weights
