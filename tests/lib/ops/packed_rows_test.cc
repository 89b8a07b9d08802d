// Forms, sizes and the row layout of packed activations.
#include "ops/packed_rows.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "lib/ops/rig.h"

namespace fathom::ops {
namespace {

TEST(RowForms, FollowTheWeightType) {
  const auto form_of = [](DType type) {
    RowForms forms;
    forms.add_for(type);
    return std::vector<bool>{forms.has(RowForm::kInt8), forms.has(RowForm::kBf16),
                             forms.has(RowForm::kF32)};
  };
  EXPECT_EQ(form_of(DType::kF32), (std::vector<bool>{false, false, true}));
  EXPECT_EQ(form_of(DType::kBF16), (std::vector<bool>{false, true, false}));
  for (const DType type : {DType::kQ4_0, DType::kQ8_0, DType::kQ6_K, DType::kIQ4_XS}) {
    EXPECT_EQ(form_of(type), (std::vector<bool>{true, false, false})) << name_of(type);
  }
}

TEST(PackedRows, TakesExactlyThePlannedBytes) {
  for (const int64_t n_cols : {1, 31, 32, 33, 576, 1000}) {
    for (const int64_t max_rows : {1, 7, 64}) {
      const Packed packed(max_rows, n_cols, all_forms());
      EXPECT_EQ(packed.pool.used_bytes(), packed.pool.capacity_bytes());
      RowForms int8;
      int8.add(RowForm::kInt8);
      const Packed small(max_rows, n_cols, int8);
      EXPECT_EQ(small.pool.used_bytes(), small.pool.capacity_bytes());
      EXPECT_LT(small.pool.used_bytes(), packed.pool.used_bytes());
    }
  }
  MemoryPool pool("small", PackedRows::bytes(4, 64, all_forms()) - 64);
  EXPECT_THROW(PackedRows(pool, 4, 64, all_forms()), Error);
}

TEST(PackedRows, ViewHasTheFormsAndRows) {
  RowForms forms;
  forms.add(RowForm::kBf16);
  Packed packed(8, 70, forms);
  packed.rows.resize(5);
  const kernels::RowsView view = packed.rows.view();
  EXPECT_EQ(view.n_rows, 5);
  EXPECT_EQ(view.n_blocks, 3);
  EXPECT_EQ(view.q, nullptr);
  EXPECT_EQ(view.f32, nullptr);
  ASSERT_NE(view.bf16, nullptr);
  const kernels::FloatRowArgs args = packed.rows.bf16_args(4, 2);
  EXPECT_EQ(args.out, view.bf16);
  EXPECT_EQ(args.row, 4);
  EXPECT_EQ(args.n_rows, 5);
  EXPECT_EQ(args.first_block, 2);
}

// A power of two between the blocks of a row would put them all into the same lines of a cache.
TEST(PackedRows, BlocksOfManyRowsAreNoPowerOfTwoApart) {
  Packed packed(512, 64, all_forms());
  for (const int64_t n_rows : {32, 64, 256, 512}) {
    packed.rows.resize(n_rows);
    const kernels::RowsView view = packed.rows.view();
    EXPECT_GE(view.n_rows, n_rows);
    EXPECT_EQ(view.n_rows / 16 % 2, 1);
    EXPECT_EQ(packed.rows.quantize_args(0, 0).n_rows, view.n_rows);
  }
}

// Block b of row r stands at [b][r]: many rows of one block are contiguous.
TEST(PackedRows, BlocksComeBeforeRows) {
  Rig rig(1);
  Matrix x(2, 40, 0);
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t k = 0; k < 40; ++k) {
      x.rows().row(i)[k] = static_cast<float>(100 * i + k);
    }
  }
  Packed packed(2, 40, all_forms());
  rig.backend.pack(x.rows(), packed.rows, {.layer = 0, .name = "x"});
  const kernels::RowsView view = packed.rows.view();
  EXPECT_EQ(view.f32[0], 0.0F);
  EXPECT_EQ(view.f32[31], 31.0F);
  EXPECT_EQ(view.f32[32], 100.0F);     // row 1, block 0
  EXPECT_EQ(view.f32[2 * 32], 32.0F);  // row 0, block 1
  EXPECT_EQ(view.f32[2 * 32 + 7], 39.0F);
  EXPECT_EQ(view.f32[2 * 32 + 8], 0.0F);  // padding
  EXPECT_EQ(view.f32[3 * 32], 132.0F);
  EXPECT_EQ(view.bf16[3 * 32], 132.0F);
  EXPECT_EQ(view.q[31], 127);  // 31 of at most 31
  EXPECT_EQ(view.d[0], 31.0F / 127.0F);
  EXPECT_EQ(view.d[3], 139.0F / 127.0F);
  EXPECT_EQ(view.q[3 * 32 + 8], 0);
}

TEST(RowForms, CoarseStandsBesideInt8Only) {
  RowForms floats;
  floats.add(RowForm::kBf16);
  floats.add_coarse();
  EXPECT_FALSE(floats.has(RowForm::kCoarse));
  EXPECT_TRUE(coarse_forms().has(RowForm::kCoarse));
}

TEST(PackedRows, TakesExactlyThePlannedBytesOfTheCoarseForm) {
  for (const int64_t n_cols : {32, 96, 256, 320, 1000}) {
    const Packed packed(7, n_cols, coarse_forms());
    EXPECT_EQ(packed.pool.used_bytes(), packed.pool.capacity_bytes());
  }
}

// Tokens 0 and 2 of three are fast; two heads have their rows one after the other.
TEST(PackedRows, RowsTakeTheFormOfTheirToken) {
  Packed packed(6, 320, coarse_forms());
  const bool fast[] = {true, false, true};
  packed.rows.set_coarse_tokens(fast);
  packed.rows.resize(6);
  EXPECT_TRUE(packed.rows.has_coarse_rows());
  for (int64_t row = 0; row < 6; ++row) {
    EXPECT_EQ(packed.rows.is_coarse(row), row % 3 != 1) << row;
  }
  const int32_t tokens[] = {1, 1, 2};
  packed.rows.resize(tokens);
  EXPECT_EQ(packed.rows.n_rows(), 3);
  EXPECT_FALSE(packed.rows.is_coarse(1));
  EXPECT_TRUE(packed.rows.is_coarse(2));
  Packed other(6, 64, coarse_forms());
  other.rows.resize_like(packed.rows);
  EXPECT_TRUE(other.rows.is_coarse(2));
  EXPECT_FALSE(other.rows.is_coarse(0));
  packed.rows.resize(std::span<const int32_t>(tokens).first(2));
  EXPECT_FALSE(packed.rows.has_coarse_rows());
  EXPECT_EQ(packed.rows.view().is_coarse, nullptr);
  Packed exact(3, 64, all_forms());
  exact.rows.set_coarse_tokens(fast);
  exact.rows.resize(3);
  EXPECT_FALSE(exact.rows.has_coarse_rows());
}

TEST(PackedRowsDeathTest, MoreRowsThanPlanned) {
  Packed packed(4, 32, all_forms());
  EXPECT_DEATH(packed.rows.resize(5), "max_rows");
}

}  // namespace
}  // namespace fathom::ops
