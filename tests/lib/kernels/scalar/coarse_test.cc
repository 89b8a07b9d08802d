// The definition of `--arithmetic fast`: one block by hand, every type against double, rows that do
// not depend on each other.
#include "quant/coarse.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/half.h"
#include "kernels/dispatch.h"
#include "kernels/probe_data.h"
#include "quant/formats.h"
#include "quant/pack.h"

namespace fathom::kernels {
namespace {

constexpr DType kTypes[] = {DType::kQ4_0, DType::kQ4_1, DType::kQ5_0,   DType::kQ5_1,
                            DType::kQ8_0, DType::kQ2_K, DType::kQ3_K,   DType::kQ4_K,
                            DType::kQ5_K, DType::kQ6_K, DType::kIQ4_NL, DType::kIQ4_XS};

// Rows in the coarse form.
struct Coarse {
  Coarse(const std::vector<std::vector<float>>& rows, int64_t n_cols) {
    const auto n_rows = std::ssize(rows);
    view.n_rows = n_rows;
    view.n_blocks = (n_cols + 31) / 32;
    q.resize(static_cast<size_t>((n_cols + 63) / 64 * n_rows * 64));
    d.resize(static_cast<size_t>((n_cols + 255) / 256 * n_rows));
    sums.resize(d.size());
    for (int64_t row = 0; row < n_rows; ++row) {
      is_finite =
          scalar_table().quantize_coarse_row({rows[static_cast<size_t>(row)].data(), n_cols, row,
                                              n_rows, 0, q.data(), d.data(), sums.data()}) &&
          is_finite;
    }
    view.coarse_q = q.data();
    view.coarse_d = d.data();
    view.coarse_sums = sums.data();
  }

  std::vector<int8_t> q;
  std::vector<float> d;
  std::vector<int32_t> sums;
  bool is_finite = true;
  RowsView view;
};

// 16 rows of file blocks as one packed group.
struct Group {
  Group(DType file_type, const std::vector<std::byte>& file, int64_t n_cols)
      : type(quant::packed_type_of(file_type, false)),
        columns(n_cols),
        bytes(quant::group_bytes(type, n_cols)) {
    quant::PackGroup job;
    job.file_type = file_type;
    job.packed_type = type;
    job.n_cols = n_cols;
    job.out = bytes.data();
    for (size_t r = 0; r < 16; ++r) {
      job.rows[r] = file.data() + r * static_cast<size_t>(quant::row_bytes(file_type, n_cols));
    }
    EXPECT_EQ(quant::pack_group(job), -1);
  }

  // Rows [first, first + n) times the group: [n][16].
  [[nodiscard]] std::vector<float> times(const RowsView& rows, int64_t first, int64_t n) {
    std::vector<float> out(static_cast<size_t>(n * 16), -1.0F);
    MatmulArgs args;
    args.weights = bytes.data();
    args.n_groups = 1;
    args.n_cols = columns;
    args.rows = rows;
    args.first_row = first;
    args.n_rows = n;
    args.out = out.data();
    args.out_stride = 16;
    scalar_table().matmul_coarse[static_cast<size_t>(type)](args);
    return out;
  }

  DType type;
  int64_t columns;
  AlignedBytes bytes;
};

// Q4_0 rows of 256: scale 1 in block 0, codes 15, 0 at k = 0, 1 (k = 16, 17 share their bytes).
std::vector<std::byte> example_rows() {
  std::vector<std::byte> file(size_t{16} * 8 * 18);
  for (size_t block = 0; block < size_t{16} * 8; ++block) {
    std::byte* at = file.data() + block * 18;
    const uint16_t scale = f32_to_f16(block % 8 == 0 ? 1.0F : 0.0F);
    std::memcpy(at, &scale, sizeof scale);
    for (int i = 0; i < 16; ++i) {
      at[2 + i] = std::byte{0x88};
    }
    at[2] = std::byte{0x8F};
    at[3] = std::byte{0x80};
  }
  return file;
}

// docs/numbers.md, "Fast prompts", has these numbers.
TEST(Coarse, WorkedExample) {
  Group group(DType::kQ4_0, example_rows(), 256);
  std::vector<float> x(256, 0.0F);
  x[0] = 1.0F;
  x[1] = -0.5F;
  x[2] = 0.25F;
  const Coarse rows({x}, 256);
  EXPECT_EQ(rows.q[0], 127);
  EXPECT_EQ(rows.q[1], -64);  // 63.5: the tie goes to even
  EXPECT_EQ(rows.q[2], 32);
  EXPECT_EQ(rows.d[0], 1.0F / 127.0F);
  EXPECT_EQ(rows.sums[0], 95);
  // Scale 8 / 127; code 15, of value 7, becomes 111, code 0, of value -8, becomes -127.
  const float expected = std::fma(22225.0F * (8.0F / 127.0F), 1.0F / 127.0F, 0.0F);
  EXPECT_EQ(group.times(rows.view, 0, 1), std::vector<float>(16, expected));
}

// K = 576: two full blocks, a segment, and a short block of 64.
TEST(Coarse, EveryTypeAgainstDouble) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  for (const DType type : kTypes) {
    const quant::Format& format = quant::format_of(type);
    const int64_t n_cols = format.values_per_block == 256 ? 768 : 576;
    std::vector<float> x(static_cast<size_t>(n_cols));
    std::vector<float> w(static_cast<size_t>(n_cols));
    for (float& value : x) {
      value = normal(random);
    }
    // Random blocks of one scale (or the random scales' squares in the error).
    std::vector<std::byte> file(static_cast<size_t>(16 * quant::row_bytes(type, n_cols)));
    const auto block_bytes = static_cast<size_t>(format.bytes_per_block);
    for (size_t at = 0; at < file.size(); at += block_bytes) {
      float largest = HUGE_VALF;
      while (!(largest < 100.0F && largest > 0.01F)) {
        for (size_t i = 0; i < block_bytes; ++i) {
          file[at + i] = static_cast<std::byte>(random());
        }
        std::vector<float> values(static_cast<size_t>(format.values_per_block));
        quant::dequantize_row(type, file.data() + at, format.values_per_block, values.data());
        largest = 0.0F;
        for (const float value : values) {
          largest = std::fabs(value) <= largest ? largest : std::fabs(value);
        }
      }
    }
    Group group(type, file, n_cols);
    const Coarse rows({x}, n_cols);
    const std::vector<float> found = group.times(rows.view, 0, 1);
    for (size_t r = 0; r < 16; ++r) {
      const auto row_bytes = static_cast<size_t>(quant::row_bytes(type, n_cols));
      quant::dequantize_row(type, file.data() + r * row_bytes, n_cols, w.data());
      double expected = 0;
      double bound = 0;  // of both roundings: half a code of the block's largest value, each
      for (size_t first = 0; first < w.size(); first += 256) {
        const size_t end = std::min(first + 256, w.size());
        double most_w = 0;
        double most_x = 0;
        double sum_w = 0;
        double sum_x = 0;
        for (size_t k = first; k < end; ++k) {
          expected += double{w[k]} * double{x[k]};
          most_w = std::max(most_w, std::fabs(double{w[k]}));
          most_x = std::max(most_x, std::fabs(double{x[k]}));
          sum_w += double{w[k]} * double{w[k]};
          sum_x += double{x[k]} * double{x[k]};
        }
        // The range of codes may reach twice as far as those that occur; roundings are independent.
        bound += 6 * 0.29 / 127 * (2 * most_w * std::sqrt(sum_x) + most_x * std::sqrt(sum_w));
      }
      EXPECT_NEAR(found[r], expected, bound) << name_of(type) << " row " << r;
      EXPECT_GT(std::fabs(expected), 0.0) << name_of(type);
    }
  }
}

TEST(Coarse, RowsDoNotDependOnEachOther) {
  Group group(DType::kQ4_0, example_rows(), 256);
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> values(20, std::vector<float>(256));
  for (auto& row : values) {
    for (float& value : row) {
      value = normal(random);
    }
  }
  const Coarse all(values, 256);
  const std::vector<float> together = group.times(all.view, 0, 20);
  for (size_t m = 0; m < values.size(); ++m) {
    const std::vector<float> in_company = group.times(all.view, static_cast<int64_t>(m), 1);
    const std::vector<float> alone = group.times(Coarse({values[m]}, 256).view, 0, 1);
    EXPECT_EQ(in_company, alone) << m;
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + std::ptrdiff_t(16 * m)));
  }
}

TEST(Coarse, InfinityIsRefusedAndItsBlockZero) {
  std::vector<float> x(300, 1.0F);
  x[40] = std::numeric_limits<float>::infinity();
  const Coarse rows({x}, 300);
  EXPECT_FALSE(rows.is_finite);
  EXPECT_EQ(rows.d[0], 0.0F);
  EXPECT_EQ(rows.q[0], 0);
  EXPECT_EQ(rows.d[1], 1.0F / 127.0F);
  EXPECT_EQ(rows.q[256], 127);  // k = 256: step 4
  EXPECT_EQ(rows.q[300], 0);    // padding
  EXPECT_EQ(rows.sums[1], 44 * 127);
}

}  // namespace
}  // namespace fathom::kernels
