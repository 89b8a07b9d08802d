// Row-wise operations: values worked out by hand, and the same bits for any split over threads.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lib/ops/rig.h"

namespace fathom::ops {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const Site kSite{.layer = 3, .name = "here"};

TEST(Embed, ScalesTheRowOfEachId) {
  std::vector<float> file(5 * 32);
  for (size_t i = 0; i < file.size(); ++i) {
    file[i] = static_cast<float>(i);
  }
  const Weight table = pack_weight(DType::kF32, 5, 32, std::as_bytes(std::span(file)));
  Rig rig(2);
  Recorder recorder;
  rig.exec.set_observer(&recorder);
  const Matrix out(3, 32);
  const std::vector<int32_t> ids = {4, 0, 4};
  rig.backend.embed(table.matrix, ids, 0.5F, out.rows(), {.layer = -1, .name = "embed"});
  EXPECT_EQ(out.rows().row(0)[0], 64.0F);
  EXPECT_EQ(out.rows().row(1)[31], 15.5F);
  EXPECT_EQ(out.rows().row(2)[31], 79.5F);
  EXPECT_TRUE(out.gaps_intact());
  ASSERT_EQ(recorder.entries.size(), 1U);
  EXPECT_EQ(recorder.entries[0].name, "embed");
  EXPECT_TRUE(same_values(recorder.entries[0], out.rows()));
}

TEST(Embed, QuantizedTableGivesItsDequantizedRow) {
  const Weight table = random_weight(DType::kQ4_1, 40, 96, 7);
  std::vector<int32_t> ids(65);
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<int32_t>(i * 17 % 40);
  }
  for (int n_threads = 1; n_threads <= 3; ++n_threads) {
    Rig rig(n_threads);
    const Matrix out(65, 96);
    rig.backend.embed(table.matrix, ids, 1.0F, out.rows(), kSite);
    for (size_t i = 0; i < ids.size(); ++i) {
      std::vector<float> row(96);
      quant::unpack_row(table.matrix, ids[i], row.data());
      EXPECT_EQ(std::memcmp(row.data(), out.rows().row(static_cast<int64_t>(i)), 96 * 4), 0);
    }
  }
}

TEST(EmbedDeathTest, IdOutsideTheTable) {
  const Weight table = random_weight(DType::kQ8_0, 16, 32, 1);
  Rig rig(1);
  const Matrix out(1, 32);
  const std::vector<int32_t> ids = {16};
  EXPECT_DEATH(rig.backend.embed(table.matrix, ids, 1.0F, out.rows(), kSite), "n_rows");
}

// mean(x^2) = 25/2, eps = 0: y = x / sqrt(12.5) * w.
TEST(Norm, MatchesTheFormula) {
  Rig rig(1);
  Matrix x(1, 2);
  x.rows().row(0)[0] = 3.0F;
  x.rows().row(0)[1] = -4.0F;
  const std::vector<float> weight = {1.0F, 2.0F};
  const Norm norm{.weight = weight.data(), .eps = 0.0F};
  const Matrix out(1, 2);
  rig.backend.norm(x.rows(), norm, out.rows(), kSite);
  EXPECT_NEAR(out.rows().row(0)[0], 3.0 / std::sqrt(12.5), 1e-6);
  EXPECT_NEAR(out.rows().row(0)[1], -8.0 / std::sqrt(12.5), 1e-6);
  rig.backend.norm(x.rows(), norm, x.rows(), kSite);
  EXPECT_TRUE(same_bits(x.rows(), out.rows()));
}

// Every count of rows, every number of threads, watched or not: one norm, then one pack.
TEST(NormPack, EqualsNormThenPack) {
  constexpr int64_t kCols = 200;  // the last block is short
  const Matrix weight = Matrix::random(1, kCols, 11);
  const Norm norm{.weight = weight.rows().data, .eps = 1e-5F};
  for (int n_threads = 1; n_threads <= 3; ++n_threads) {
    Rig rig(n_threads);
    for (int64_t n = 1; n <= 65; ++n) {
      const Matrix x = Matrix::random(n, kCols, static_cast<uint32_t>(n));
      Packed fused(65, kCols, all_forms());
      Packed watched(65, kCols, all_forms());
      Packed apart(65, kCols, all_forms());
      rig.backend.norm_pack(x.rows(), norm, fused.rows, kSite);
      Recorder recorder;
      rig.exec.set_observer(&recorder);
      rig.backend.norm_pack(x.rows(), norm, watched.rows, kSite);
      rig.exec.set_observer(nullptr);
      const Matrix normed(n, kCols);
      for (int64_t i = 0; i < n; ++i) {  // each row by itself
        rig.backend.norm(x.part(i, 1), norm, normed.part(i, 1), kSite);
      }
      rig.backend.pack(normed.rows(), apart.rows, kSite);
      ASSERT_TRUE(same_packed(fused.rows, apart.rows)) << n << " rows";
      ASSERT_TRUE(same_packed(watched.rows, apart.rows)) << n << " rows";
      ASSERT_EQ(recorder.entries.size(), 1U);
      ASSERT_EQ(recorder.entries[0].type, DType::kI8);
      ASSERT_TRUE(same_values(recorder.entries[0], normed.rows()));
    }
  }
}

TEST(Pack, ReportsTheLowestRowThatIsNotFinite) {
  for (int n_threads = 1; n_threads <= 3; ++n_threads) {
    Rig rig(n_threads);
    const Matrix x = Matrix::random(64, 128, 5);
    Packed packed(64, 128, all_forms());
    rig.backend.pack(x.rows(), packed.rows, kSite);
    EXPECT_FALSE(rig.exec.take_fault().has_value());
    x.rows().row(60)[127] = kInf;
    x.rows().row(23)[64] = std::numeric_limits<float>::quiet_NaN();
    x.rows().row(41)[0] = -kInf;
    rig.backend.pack(x.rows(), packed.rows, kSite);
    const auto fault = rig.exec.take_fault();
    ASSERT_TRUE(fault.has_value());
    EXPECT_EQ(fault->row, 23);
    EXPECT_EQ(fault->name, "here");
    EXPECT_EQ(fault->layer, 3);
  }
}

TEST(Pack, ObserverIsToldHowItIsHeld) {
  Rig rig(1);
  Recorder recorder;
  rig.exec.set_observer(&recorder);
  const Matrix x = Matrix::random(2, 32, 5);
  RowForms bf16;
  bf16.add(RowForm::kBf16);
  RowForms f32;
  f32.add(RowForm::kF32);
  for (const RowForms& forms : {all_forms(), bf16, f32}) {
    Packed packed(2, 32, forms);
    rig.backend.pack(x.rows(), packed.rows, kSite);
  }
  ASSERT_EQ(recorder.entries.size(), 3U);
  EXPECT_EQ(recorder.entries[0].type, DType::kI8);
  EXPECT_EQ(recorder.entries[1].type, DType::kBF16);
  EXPECT_EQ(recorder.entries[2].type, DType::kF32);
}

TEST(Add, SumsRowByRow) {
  for (int n_threads = 1; n_threads <= 3; ++n_threads) {
    Rig rig(n_threads);
    for (const int64_t n : {1, 2, 5, 65}) {
      const Matrix x = Matrix::random(n, 301, 1);
      const Matrix y = Matrix::random(n, 301, 2);
      const Matrix before = x;
      rig.backend.add(x.rows(), y.rows(), kSite);
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t k = 0; k < 301; ++k) {
          const float expected = before.rows().row(i)[k] + y.rows().row(i)[k];
          ASSERT_EQ(x.rows().row(i)[k], expected);
        }
      }
      EXPECT_TRUE(x.gaps_intact());
    }
  }
}

TEST(SoftCap, LongRowsInPieces) {
  constexpr int64_t kCols = 5001;
  const Matrix x = Matrix::random(3, kCols, 9);
  const Matrix original = x;
  Rig one(1);
  one.backend.soft_cap(x.rows(), 4.0F, kSite);
  for (int64_t k = 0; k < kCols; ++k) {
    const double value = original.rows().row(1)[k];
    ASSERT_NEAR(x.rows().row(1)[k], 4.0 * std::tanh(value / 4.0), 2e-6) << k;
  }
  EXPECT_TRUE(x.gaps_intact());
  for (int n_threads = 2; n_threads <= 3; ++n_threads) {
    Rig rig(n_threads);
    const Matrix again = original;
    rig.backend.soft_cap(again.rows(), 4.0F, kSite);
    EXPECT_TRUE(same_bits(again.rows(), x.rows()));
  }
}

TEST(FillRope, AnglesOfPositions) {
  Rig rig(2);
  const std::vector<int64_t> positions = {0, 1, 1000};
  const std::vector<float> inv_freq = {1.0F, 0.25F};
  std::vector<float> cos(6);
  std::vector<float> sin(6);
  rig.backend.fill_rope(positions, inv_freq, 2.0F, cos.data(), sin.data());
  EXPECT_EQ(cos[0], 2.0F);
  EXPECT_EQ(sin[0], 0.0F);
  EXPECT_NEAR(cos[2], 2.0 * 0.54030230586813972, 2e-7);
  EXPECT_NEAR(sin[2], 2.0 * 0.84147098480789651, 2e-7);
  EXPECT_NEAR(sin[3], 2.0 * 0.24740395925452293, 2e-7);
  EXPECT_NEAR(sin[4], 2.0 * std::sin(1000.0), 2e-7);
  EXPECT_NEAR(cos[5], 2.0 * std::cos(250.0), 2e-7);
}

}  // namespace
}  // namespace fathom::ops
