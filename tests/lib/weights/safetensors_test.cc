// Tests of weights/safetensors: whole files, and headers that lie about the bytes behind them.
#include "weights/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "support/error_check.h"
#include "support/gguf_builder.h"
#include "support/safetensors_builder.h"
#include "support/temp_folder.h"

namespace fathom::weights {

namespace {

using test::expect_error;
using test::SafetensorsBuilder;

using Shape = std::vector<int64_t>;

TensorStore parse(const std::vector<std::byte>& bytes) {
  TensorStore store;
  parse_safetensors(bytes, "m.safetensors", nullptr, store);
  return store;
}

void expect_corrupt(const SafetensorsBuilder& file, std::initializer_list<std::string_view> parts) {
  const auto bytes = file.bytes();
  expect_error([&] { (void)parse(bytes); }, ErrorCode::kCorruptFile, parts);
}

// A header with one tensor "w".
SafetensorsBuilder one(std::string_view dtype, std::string_view shape, std::string_view offsets,
                       size_t n_data) {
  SafetensorsBuilder file;
  file.header("{\"w\":{\"dtype\":\"" + std::string(dtype) + "\",\"shape\":" + std::string(shape) +
              ",\"data_offsets\":" + std::string(offsets) + "}}");
  return file.append(std::vector<std::byte>(n_data));
}

TEST(Safetensors, ReadsTensorsOfEveryElementType) {
  const test::TempFolder folder;
  SafetensorsBuilder file;
  const std::vector<float> values = {1, -2, 3, -4, 5, -6};
  file.add("layer.weight", Shape{2, 3}, values);
  const std::vector<std::pair<std::string, size_t>> types = {
      {"F16", 2}, {"BF16", 2}, {"F64", 8}, {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"I8", 1},
      {"I16", 2}, {"I32", 4},  {"I64", 8}, {"U8", 1},      {"BOOL", 1}};
  for (const auto& [type, n_bytes] : types) {
    file.add(type, type, Shape{3, 1}, std::vector<std::byte>(3 * n_bytes));
  }
  file.add("scalar", Shape{}, {7});
  TensorStore store;
  add_safetensors_file(folder.write("m.safetensors", file.bytes()), store);
  EXPECT_EQ(store.tensors().size(), 13U);
  const FileTensor* weight = store.find("layer.weight");
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(weight->shape, (Shape{2, 3}));
  ASSERT_EQ(weight->bytes.size(), 24U);
  EXPECT_EQ(std::memcmp(weight->bytes.data(), values.data(), 24), 0);
  EXPECT_EQ(store.find("BF16")->type, DType::kBF16);
  EXPECT_EQ(store.find("F8_E4M3")->type, DType::kF8_E4M3);
  EXPECT_EQ(store.find("F8_E5M2")->type, DType::kF8_E5M2);
  EXPECT_EQ(store.find("U8")->type, DType::kU8);
  EXPECT_EQ(store.find("BOOL")->type, DType::kU8);
  EXPECT_EQ(store.find("scalar")->n_elements(), 1);
}

TEST(Safetensors, OtherElementTypesAreRefusedByName) {
  for (const std::string type : {"F8_E8M0", "F4", "U16", "C64", "f32"}) {
    const auto bytes = one(type, "[4]", "[0,4]", 4).bytes();
    const std::string found = "tensor \"w\", dtype: found \"" + type + "\"";
    expect_error([&] { (void)parse(bytes); }, ErrorCode::kUnsupported,
                 {"m.safetensors: byte ", found, "convert"});
  }
}

// C28: so are the next ones, up to names that stand twice.
TEST(Safetensors, HeaderLengths) {
  expect_error([] { (void)parse(std::vector<std::byte>(5)); }, ErrorCode::kCorruptFile,
               {"header length", "cut off"});
  expect_corrupt(SafetensorsBuilder().claim_header_bytes(uint64_t{1} << 63),
                 {"byte 0: header length: found 9223372036854775808"});
  expect_corrupt(SafetensorsBuilder().claim_header_bytes(9), {"found 9", "at most 8"});
  expect_corrupt(SafetensorsBuilder().claim_header_bytes(0), {"byte 8: header"});
  expect_corrupt(SafetensorsBuilder().header("not json"), {"byte 8: header: found \"not json\""});
  expect_corrupt(SafetensorsBuilder().header("{not json"), {"m.safetensors: byte "});
}

TEST(Safetensors, AHeaderAboveTheFormatsLimit) {
  std::vector<std::byte> bytes = test::raw_bytes(uint64_t{100} << 20);
  bytes.resize(8 + (size_t{100} << 20));
  expect_error([&] { (void)parse(bytes); }, ErrorCode::kCorruptFile,
               {"header length: found 104857600", "at most 100000000"});
}

TEST(Safetensors, SizesAndShapes) {
  expect_corrupt(one("F32", "[2,2]", "[0,12]", 12),
                 {"tensor \"w\", data_offsets: found 12 bytes", "16, the size of F32 [2, 2]"});
  expect_corrupt(one("F32", "[0]", "[0,0]", 0), {"shape: found a dimension of 0"});
  expect_corrupt(one("F32", "[-1]", "[0,4]", 4), {"a dimension of -1"});
  expect_corrupt(one("F32", "[4294967296,4294967296]", "[0,0]", 0), {"2^63"});
}

TEST(Safetensors, RangesLieInsideTheFile) {
  expect_corrupt(one("F32", "[4]", "[0,16]", 15), {"found [0, 16]", "<= 15", "download"});
  expect_corrupt(one("F32", "[4]", "[16,0]", 16), {"found [16, 0]", "begin <= end"});
  expect_corrupt(one("F32", "[4]", "[18446744073709551600,18446744073709551615]", 16),
                 {"data_offsets"});
}

TEST(Safetensors, RangesNeitherOverlapNorLeaveHoles) {
  const auto two = [](std::string_view a, std::string_view b, size_t n_data) {
    SafetensorsBuilder file;
    file.header(R"({"a":{"dtype":"I8","shape":[4],"data_offsets":)" + std::string(a) +
                R"(},"b":{"dtype":"I8","shape":[4],"data_offsets":)" + std::string(b) + "}}");
    return file.append(std::vector<std::byte>(n_data));
  };
  EXPECT_NO_THROW((void)parse(two("[4,8]", "[0,4]", 8).bytes()));
  expect_corrupt(two("[0,4]", "[3,7]", 7), {"tensor \"b\"", "4 or more", "tensor \"a\" reaches"});
  expect_corrupt(two("[0,4]", "[5,9]", 9), {"tensor \"b\"", "found begin 5", "4: the format"});
  expect_corrupt(two("[1,5]", "[5,9]", 9), {"tensor \"a\"", "found begin 1", "0: the format"});
  expect_corrupt(two("[0,4]", "[4,8]", 10), {"data: found 2 more bytes"});
}

TEST(Safetensors, NamesStandOnce) {
  SafetensorsBuilder file;
  file.add("w", Shape{1}, {1}).add("w", Shape{1}, {2});
  expect_corrupt(file, {"tensor 'w' is there twice"});
}

TEST(Safetensors, CutOffAnywhere) {
  SafetensorsBuilder file;
  file.add("a", Shape{2, 2}, {1, 2, 3, 4}).add("b", Shape{2}, {5, 6});
  const auto whole = file.bytes();
  for (size_t size = 0; size < whole.size(); ++size) {
    SCOPED_TRACE(size);
    const std::vector<std::byte> bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
    expect_error([&] { (void)parse(bytes); }, ErrorCode::kCorruptFile, {"m.safetensors: byte "});
  }
}

TEST(Safetensors, RandomByteFlipsNeverCrash) {
  SafetensorsBuilder file;
  file.add("a", Shape{2, 2}, {1, 2, 3, 4}).add("b", Shape{2}, {5, 6});
  const auto whole = file.bytes();
  std::mt19937 random(2);
  int n_refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    auto bytes = whole;
    for (uint32_t n = 0; n <= random() % 3; ++n) {
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    }
    try {
      (void)parse(bytes);
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
