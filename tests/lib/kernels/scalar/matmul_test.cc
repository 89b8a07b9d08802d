// Matrix products of the definition: exact orders by hand, every type against double.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/half.h"
#include "kernels/dispatch.h"
#include "quant/formats.h"
#include "quant/pack.h"

namespace fathom::kernels {
namespace {

using quant::kBlockK;

// One row of weights in file form, packed as a group of 16 whose other rows are zero.
std::vector<std::byte> pack_row(DType type, const std::byte* row, int64_t n_cols) {
  const DType packed = quant::packed_type_of(type, false);
  std::vector<std::byte> out(static_cast<size_t>(quant::group_bytes(packed, n_cols)));
  quant::PackGroup job;
  job.file_type = type;
  job.packed_type = packed;
  job.rows[0] = row;
  job.n_cols = n_cols;
  job.out = out.data();
  EXPECT_EQ(quant::pack_group(job), -1);
  return out;
}

// Activations of one row in all three forms.
struct Row {
  explicit Row(const std::vector<float>& x) {
    n_blocks = (static_cast<int64_t>(x.size()) + kBlockK - 1) / kBlockK;
    const auto n = static_cast<size_t>(n_blocks);
    q.resize(n * kBlockK);
    d.resize(n);
    ds.resize(n);
    sums.resize(n);
    half_sums.resize(2 * n);
    bf16.resize(n * kBlockK);
    f32.resize(n * kBlockK);
    const KernelTable table = scalar_table();
    EXPECT_TRUE(table.quantize_row({x.data(), static_cast<int64_t>(x.size()), 0, 1, 0, q.data(),
                                    d.data(), ds.data(), sums.data(), half_sums.data()}));
    table.round_row_bf16({x.data(), static_cast<int64_t>(x.size()), 0, 1, 0, bf16.data()});
    table.copy_row_f32({x.data(), static_cast<int64_t>(x.size()), 0, 1, 0, f32.data()});
  }

  [[nodiscard]] RowsView view() const {
    return {1,           n_blocks,         q.data(),    d.data(),  ds.data(),
            sums.data(), half_sums.data(), bf16.data(), f32.data()};
  }

  // The value that multiplies weights of `type`.
  [[nodiscard]] double value(DType type, size_t k) const {
    if (type == DType::kF32) {
      return f32[k];
    }
    return type == DType::kBF16 ? bf16[k] : static_cast<double>(d[k / kBlockK]) * q[k];
  }

  int64_t n_blocks;
  std::vector<int8_t> q;
  std::vector<float> d, ds, bf16, f32;
  std::vector<int32_t> sums, half_sums;
};

float multiply(DType packed, const std::vector<std::byte>& weights, int64_t n_cols,
               const Row& row) {
  float out[16];
  MatmulArgs args;
  args.weights = weights.data();
  args.group_stride_bytes = quant::group_bytes(packed, n_cols);
  args.n_groups = 1;
  args.n_cols = n_cols;
  args.rows = row.view();
  args.n_rows = 1;
  args.out = out;
  args.out_stride = 16;
  scalar_table().matmul_few[static_cast<int>(packed)](args);
  EXPECT_EQ(out[1], 0.0F);  // a zero row
  return out[0];
}

// A file row whose values are finite: normal floats, or random blocks (thrown again while a scale
// is not).
std::vector<std::byte> random_row(DType type, int64_t n_cols, std::mt19937_64* random) {
  std::normal_distribution<float> normal;
  std::vector<std::byte> row(static_cast<size_t>(quant::row_bytes(type, n_cols)));
  const quant::Format& format = quant::format_of(type);
  for (size_t at = 0; at < row.size(); at += static_cast<size_t>(format.bytes_per_block)) {
    if (format.values_per_block == 1 && format.bytes_per_block > 1) {
      const float x = normal(*random);
      const uint16_t half = type == DType::kF16 ? f32_to_f16(x) : f32_to_bf16(x);
      std::memcpy(row.data() + at, type == DType::kF32 ? static_cast<const void*>(&x) : &half,
                  static_cast<size_t>(format.bytes_per_block));
      continue;
    }
    float largest = HUGE_VALF;
    while (!(largest < 1e30F)) {
      for (int i = 0; i < format.bytes_per_block; ++i) {
        row[at + static_cast<size_t>(i)] = static_cast<std::byte>((*random)() >> 56);
      }
      std::vector<float> values(static_cast<size_t>(format.values_per_block));
      quant::dequantize_row(type, row.data() + at, format.values_per_block, values.data());
      largest = 0.0F;
      for (const float value : values) {
        largest = std::fabs(value) <= largest ? largest : std::fabs(value);
      }
    }
  }
  return row;
}

TEST(Matmul, EveryTypeAgainstDouble) {
  std::mt19937_64 random(7);
  std::normal_distribution<float> normal;
  for (const DType type :
       {DType::kF32,   DType::kF16,     DType::kBF16,    DType::kQ4_0,    DType::kQ4_1,
        DType::kQ5_0,  DType::kQ5_1,    DType::kQ8_0,    DType::kQ2_K,    DType::kQ3_K,
        DType::kQ4_K,  DType::kQ5_K,    DType::kQ6_K,    DType::kIQ4_NL,  DType::kIQ4_XS,
        DType::kMXFP4, DType::kI4Group, DType::kI8Group, DType::kF8_E4M3, DType::kF8_E5M2}) {
    const quant::Format& format = quant::format_of(type);
    const int64_t n_cols = format.values_per_block == 1 ? 600 : format.values_per_block * 3 + 512;
    const std::vector<std::byte> row = random_row(type, n_cols, &random);
    std::vector<float> values(static_cast<size_t>(n_cols));
    quant::dequantize_row(type, row.data(), n_cols, values.data());
    std::vector<float> x(static_cast<size_t>(n_cols));
    for (float& value : x) {
      value = normal(random);
    }
    const Row activations(x);
    const DType packed = quant::packed_type_of(type, false);
    double want = 0;
    double magnitude = 0;
    for (size_t k = 0; k < values.size(); ++k) {
      const double w = packed == DType::kBF16 ? round_to_bf16_operand(values[k]) : values[k];
      const double product = w * activations.value(packed, k);
      want += product;
      magnitude += std::fabs(product);
    }
    const float got = multiply(packed, pack_row(type, row.data(), n_cols), n_cols, activations);
    EXPECT_NEAR(got, want, magnitude * 2e-6) << name_of(type);
  }
}

// F32 weights w[k] times x = 1.
float sum_of(std::vector<float> w) {
  const auto n_cols = static_cast<int64_t>(w.size());
  const std::vector<std::byte> packed =
      pack_row(DType::kF32, reinterpret_cast<const std::byte*>(w.data()), n_cols);
  return multiply(DType::kF32, packed, n_cols, Row(std::vector<float>(w.size(), 1.0F)));
}

// Codes and zero points at their ends: acc = 32 * 255 * 127, the largest of all types.
TEST(Matmul, ZeroPointsAtTheirEnds) {
  std::vector<std::byte> block(37);
  const float scale = 0.1F;
  std::memcpy(block.data(), &scale, sizeof scale);
  std::vector<float> x(32, 1.0F);
  for (const bool low : {false, true}) {
    block[4] = low ? std::byte{255} : std::byte{0};  // zero
    std::fill(block.begin() + 5, block.end(), low ? std::byte{0} : std::byte{255});
    const std::vector<std::byte> packed = pack_row(DType::kI8Group, block.data(), 32);
    const float acc = low ? -1036320.0F : 1036320.0F;
    EXPECT_EQ(multiply(DType::kI8Group, packed, 32, Row(x)),
              std::fma(acc * scale, 1.0F / 127.0F, 0.0F));
  }
}

// MXFP4: 6 * 2^(e - 127) as the doubled code 12 times half the scale.
TEST(Matmul, ExponentScales) {
  std::vector<std::byte> block(17, std::byte{0x77});
  const std::vector<float> x(32, 1.0F);
  for (const int e : {0, 1, 2, 120, 127, 200}) {
    block[0] = static_cast<std::byte>(e);
    const std::vector<std::byte> packed = pack_row(DType::kMXFP4, block.data(), 32);
    const float scaled = static_cast<float>(12 * 127 * 32) * std::ldexp(1.0F, e - 128);
    EXPECT_EQ(multiply(DType::kMXFP4, packed, 32, Row(x)), std::fma(scaled, 1.0F / 127.0F, 0.0F))
        << e;
  }
}

TEST(Matmul, SegmentsOf512StartFromZero) {
  std::vector<float> w(1024, 0.0F);
  w[0] = 0x1p24F;
  for (size_t k = 1; k < 17; ++k) {
    w[k] = 1.0F;  // 2^24 + 1 rounds back to 2^24, sixteen times
  }
  EXPECT_EQ(sum_of(w), 0x1p24F);
  for (size_t k = 1; k < 17; ++k) {
    w[k] = 0.0F;
    w[512 + k] = 1.0F;  // the next segment gathers 16 first
  }
  EXPECT_EQ(sum_of(w), 0x1p24F + 16.0F);
  w[512] = 0.0F;
  w[511] = 1.0F;  // still the first segment: lost
  EXPECT_EQ(sum_of(w), 0x1p24F + 16.0F);
}

TEST(Matmul, Bf16AddsEvenAndOddChains) {
  // Even k: 2^24, 1; odd k: 1, 1. Two chains: (2^24 + 1 -> 2^24) + 2; one chain would lose all
  // three.
  std::vector<float> w(32, 0.0F);
  w[0] = 0x1p24F;
  w[1] = 1.0F;
  w[2] = 1.0F;
  w[3] = 1.0F;
  std::vector<uint16_t> bits;
  for (const float value : w) {
    bits.push_back(f32_to_bf16(value));
  }
  const std::vector<std::byte> packed =
      pack_row(DType::kBF16, reinterpret_cast<const std::byte*>(bits.data()), 32);
  EXPECT_EQ(multiply(DType::kBF16, packed, 32, Row(std::vector<float>(32, 1.0F))), 0x1p24F + 2.0F);
}

// The worked example of docs/numbers.md.
TEST(Matmul, WorkedExample) {
  struct {
    uint16_t d = 0x2E66;  // 0.0999755859375
    uint16_t m = 0xB800;  // -0.5
    uint8_t qs[16] = {};
  } block;

  block.qs[0] = 0xF7;  // codes 7 (k 0) and 15 (k 16)
  block.qs[1] = 0x03;  // code 3 (k 1)
  std::vector<float> x(32, 0.0F);
  x[0] = 1.0F;
  x[1] = -0.25F;
  x[16] = 0.5F;
  const std::vector<std::byte> packed =
      pack_row(DType::kQ4_1, reinterpret_cast<const std::byte*>(&block), 32);
  // q = 127, -32 (-31.75), 64 (63.5: to even); acc = 7*127 - 3*32 + 15*64 = 1753; sum = 159
  const float da = 1.0F / 127.0F;
  const float sw = 0.0999755859375F;
  const float f = std::fma(1753.0F * sw, da, 0.0F);
  EXPECT_EQ(multiply(DType::kQ4_1, packed, 32, Row(x)), std::fma(-0.5F, da * 159.0F, f));
}

// The cheap conversion of NUMBERS rule 4 gives the same product for every sum and scale that
// occurs.
TEST(Matmul, ProductOfSumAndScaleByTheShiftedConversion) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 200000; ++i) {
    const auto acc = static_cast<int32_t>(random() % (2U << 22)) - (1 << 22) + 1;
    const float d = f16_to_f32(static_cast<uint16_t>(random() % 0x7C00));
    const float sw = d * static_cast<float>(static_cast<int>(random() % 256) - 128);  // 19 bits
    const auto shifted = std::bit_cast<float>(static_cast<uint32_t>(acc + 0x4B400000));
    ASSERT_EQ(std::fma(shifted, sw, -12582912.0F * sw), static_cast<float>(acc) * sw) << acc;
  }
}

// One product of two groups and 19 rows equals its 19 products of one row.
TEST(Matmul, AnyBatchGivesTheSameBits) {
  constexpr int64_t kRows = 19;
  constexpr int64_t kCols = 608;
  std::mt19937_64 random(5);
  const int64_t stride = quant::group_bytes(DType::kQ8_0, kCols);
  std::vector<std::byte> weights(static_cast<size_t>(2 * stride));
  for (std::byte& byte : weights) {
    byte = static_cast<std::byte>(random() >> 58);  // below 64: finite scales
  }
  const int64_t n_blocks = kCols / kBlockK;
  std::vector<int8_t> q(static_cast<size_t>(n_blocks * kRows * kBlockK));
  for (int8_t& code : q) {
    code = static_cast<int8_t>(static_cast<int>(random() % 255) - 127);
  }
  const std::vector<float> d(static_cast<size_t>(n_blocks * kRows), 0.037F);
  const std::vector<int32_t> sums(d.size() * 2, 0);
  MatmulArgs args;
  args.weights = weights.data();
  args.group_stride_bytes = stride;
  args.n_groups = 2;
  args.n_cols = kCols;
  args.rows = {kRows,       n_blocks,    q.data(), d.data(), d.data(),
               sums.data(), sums.data(), nullptr,  nullptr};
  args.n_rows = kRows;
  std::vector<float> all(kRows * 32);
  args.out = all.data();
  args.out_stride = 32;
  scalar_table().matmul_many[static_cast<int>(DType::kQ8_0)](args);
  for (int64_t row = 0; row < kRows; ++row) {
    float one[32];
    args.first_row = row;
    args.n_rows = 1;
    args.out = one;
    scalar_table().matmul_few[static_cast<int>(DType::kQ8_0)](args);
    EXPECT_EQ(std::memcmp(one, all.data() + row * 32, sizeof one), 0) << row;
  }
}

}  // namespace
}  // namespace fathom::kernels
