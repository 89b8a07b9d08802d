// Bad scales and values of every kind, found at the place where they were put.
#include "weights/check_tensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "quant/formats.h"

namespace fathom::weights {
namespace {

// A model in memory; every tensor is 4 x 512 of zero bytes.
class CheckTensorsTest : public testing::Test {
 protected:
  static constexpr int64_t kRows = 4;
  static constexpr int64_t kCols = 512;

  CheckTensorsTest() : model_{Metadata(Source::kHuggingFace, "m"), {}} {}

  std::byte* add(const std::string& name, DType type) {
    auto& bytes = bytes_[name];
    bytes.resize(static_cast<size_t>(kRows * quant::row_bytes(type, kCols)));
    FileTensor tensor;
    tensor.name = name;
    tensor.type = type;
    tensor.shape = {kRows, kCols};
    tensor.bytes = bytes;
    model_.tensors.add(std::move(tensor), nullptr);
    return bytes.data();
  }

  TensorCheck check(int n_threads = 2) {
    ThreadPool pool(n_threads);
    return check_tensors(model_, pool, {});
  }

  // Puts `value` at byte `at` of block `block` of row 2 of a tensor of its own; the check must name
  // it.
  template <typename T>
  void expect_found(DType type, int block, int at, T value, bool is_nan) {
    const std::string name(name_of(type));
    const quant::Format& format = quant::format_of(type);
    std::byte* data = add(name + std::to_string(at), type);
    std::memcpy(
        data + 2 * quant::row_bytes(type, kCols) + ptrdiff_t{block} * format.bytes_per_block + at,
        &value, sizeof value);
    const TensorCheck found = check();
    ASSERT_FALSE(found.bad.empty()) << name;
    const BadTensor* bad = nullptr;
    for (const BadTensor& one : found.bad) {
      bad = one.name == name + std::to_string(at) ? &one : bad;
    }
    ASSERT_NE(bad, nullptr) << name;
    EXPECT_EQ(bad->row, 2) << name;
    EXPECT_EQ(bad->is_nan, is_nan) << name;
    const int64_t values = format.values_per_block == 1 ? 32 : format.values_per_block;
    const int64_t column = ptrdiff_t{block} * format.values_per_block;
    EXPECT_EQ(bad->block, column / values) << name;
    EXPECT_EQ(bad->first_value, column / values * values) << name;
  }

  ModelFile model_;
  std::map<std::string, std::vector<std::byte>> bytes_;
};

TEST_F(CheckTensorsTest, ZerosAreFine) {
  add("a", DType::kQ4_K);
  add("b", DType::kF64);
  add("c", DType::kI32);
  add("d", DType::kMXFP4);
  const TensorCheck result = check();
  EXPECT_EQ(result.n_tensors, 3);  // integers are not looked at
  EXPECT_EQ(result.n_bad, 0);
  EXPECT_TRUE(result.bad.empty());
}

TEST_F(CheckTensorsTest, ScalesOfEveryBlockFormat) {
  const uint16_t inf = 0x7C00;
  const uint16_t nan = 0xFE01;
  // Codes are zero: infinity times the code is NaN, or infinite where the zero point is not zero.
  expect_found(DType::kQ4_0, 3, 0, inf, false);
  expect_found(DType::kQ4_1, 5, 2, nan, true);
  expect_found(DType::kQ5_0, 15, 0, nan, true);
  expect_found(DType::kQ5_1, 0, 2, inf, false);
  expect_found(DType::kQ8_0, 1, 0, inf, true);
  expect_found(DType::kQ2_K, 1, 80, inf, true);
  expect_found(DType::kQ2_K, 0, 82, inf, true);
  expect_found(DType::kQ3_K, 1, 108, inf, false);
  expect_found(DType::kQ4_K, 1, 2, nan, true);
  expect_found(DType::kQ5_K, 1, 0, inf, true);
  expect_found(DType::kQ6_K, 1, 208, inf, true);
  expect_found(DType::kIQ4_NL, 2, 0, inf, false);
  expect_found(DType::kIQ4_XS, 1, 0, inf, false);
  expect_found(DType::kMXFP4, 7, 0, uint8_t{255}, true);
  expect_found(DType::kI4Group, 4, 0, std::numeric_limits<float>::infinity(), true);
  expect_found(DType::kI8Group, 4, 0, std::nanf(""), true);
}

TEST_F(CheckTensorsTest, ValuesOfEveryFloat) {
  expect_found(DType::kF32, 100, 0, -std::numeric_limits<float>::infinity(), false);
  expect_found(DType::kF16, 31, 0, uint16_t{0xFC00}, false);
  expect_found(DType::kBF16, 511, 0, uint16_t{0x7FC0}, true);
  expect_found(DType::kF64, 33, 0, std::numeric_limits<double>::quiet_NaN(), true);
  expect_found(DType::kF8_E4M3, 64, 0, uint8_t{0xFF}, true);
  expect_found(DType::kF8_E5M2, 64, 0, uint8_t{0x7C}, false);
}

TEST_F(CheckTensorsTest, LargeDoublesAreFinite) {
  const double large = 1e300;
  std::memcpy(add("a", DType::kF64), &large, sizeof large);
  EXPECT_EQ(check().n_bad, 0);
}

TEST_F(CheckTensorsTest, TheFirstPlaceCountsAndTwentyAreListed) {
  const float nan = std::nanf("");
  for (int i = 0; i < 25; ++i) {
    std::byte* data = add("t" + std::to_string(100 + i), DType::kF32);
    for (const int64_t row : {3, 1}) {
      std::memcpy(data + (row * kCols + 40 + i) * 4, &nan, sizeof nan);
    }
  }
  for (const int n_threads : {1, 4}) {
    const TensorCheck result = check(n_threads);
    EXPECT_EQ(result.n_bad, 25);
    ASSERT_EQ(result.bad.size(), kMaxBadTensors);
    EXPECT_EQ(result.bad[0].name, "t100");
    EXPECT_EQ(result.bad[19].name, "t119");
    EXPECT_EQ(result.bad[0].row, 1);
    EXPECT_EQ(result.bad[0].block, 1);
  }
}

TEST_F(CheckTensorsTest, ProgressReachesTheEnd) {
  add("a", DType::kF32);
  add("b", DType::kQ8_0);
  ThreadPool pool(1);
  int64_t last = 0;
  int64_t all = 0;
  check_tensors(model_, pool, [&](int64_t done, int64_t total) {
    EXPECT_GT(done, last);
    last = done;
    all = total;
  });
  EXPECT_EQ(last, all);
  EXPECT_EQ(all,
            kRows * (quant::row_bytes(DType::kF32, kCols) + quant::row_bytes(DType::kQ8_0, kCols)));
}

TEST(CheckTensors, Format) {
  EXPECT_EQ(format_bad_tensor({"a.weight", DType::kQ4_K, 3, 2, 512, true}),
            "tensor 'a.weight' (Q4_K) row 3 block 2 (values 512 to 767): NaN, so its scale is "
            "broken");
  EXPECT_EQ(format_bad_tensor({"b", DType::kBF16, 0, 1, 32, false}),
            "tensor 'b' (BF16) row 0 block 1 (values 32 to 63): infinity");
}

}  // namespace
}  // namespace fathom::weights
