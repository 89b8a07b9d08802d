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

// Rows that were gathered or cut into heads: the fault is one of the rows they came from.
TEST(Pack, FaultsAreOfTheBatchsRows) {
  Rig rig(2);
  const Matrix x = Matrix::random(8, 128, 5);
  x.rows().row(6)[100] = kInf;
  const std::vector<int32_t> rows = {1, 1, 7, 6, 6};
  Packed gathered(5, 128, all_forms());
  rig.backend.gather_pack(x.rows(), rows, gathered.rows, kSite);
  EXPECT_EQ(rig.exec.take_fault()->row, 6);
  Packed heads(4 * 8, 32, all_forms());
  rig.backend.pack_heads(x.rows(), 4, 0, 32, heads.rows, kSite);
  EXPECT_EQ(rig.exec.take_fault()->row, 6);
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

// y = (x - mean) / sqrt(variance) * w + b of 3, -4, 7: mean 2, variance 62/3.
TEST(Norm, LayerNormWithAndWithoutWeightAndBias) {
  Rig rig(1);
  Matrix x(1, 3);
  const float values[] = {3.0F, -4.0F, 7.0F};
  const float weight[] = {1.0F, 2.0F, -1.0F};
  const float bias[] = {0.5F, 0.0F, 10.0F};
  std::copy_n(values, 3, x.rows().row(0));
  const double deviation = std::sqrt(62.0 / 3.0);
  for (const bool weighted : {false, true}) {
    for (const bool biased : {false, true}) {
      const Norm norm{.weight = weighted ? weight : nullptr,
                      .bias = biased ? bias : nullptr,
                      .eps = 0.0F,
                      .kind = NormKind::kLayer};
      const Matrix out(1, 3);
      Packed packed(1, 3, all_forms());
      rig.backend.norm(x.rows(), norm, out.rows(), kSite);
      rig.backend.norm_pack(x.rows(), norm, packed.rows, kSite);
      for (int k = 0; k < 3; ++k) {
        const double expected =
            (values[k] - 2.0) / deviation * (weighted ? weight[k] : 1.0) + (biased ? bias[k] : 0.0);
        EXPECT_NEAR(out.rows().row(0)[k], expected, 1e-6) << weighted << biased << k;
        EXPECT_EQ(packed.rows.view().f32[k], out.rows().row(0)[k]);
      }
    }
  }
}

TEST(NormDeathTest, AnRmsNormHasAWeightAndNoBias) {
  Rig rig(1);
  const Matrix x = Matrix::random(1, 4, 1);
  const float bias[4] = {};
  EXPECT_DEATH(rig.backend.norm(x.rows(), {}, x.rows(), kSite), "weight");
  EXPECT_DEATH(rig.backend.norm(x.rows(), {.weight = bias, .bias = bias}, x.rows(), kSite), "bias");
}

TEST(AddPositions, AddsTheRowOfEachPosition) {
  const Weight table = random_weight(DType::kBF16, 80, 96, 7);
  std::vector<int64_t> positions(65);
  for (size_t i = 0; i < positions.size(); ++i) {
    positions[i] = static_cast<int64_t>(i * 31 % 78);
  }
  for (int n_threads = 1; n_threads <= 3; ++n_threads) {
    Rig rig(n_threads);
    Recorder recorder;
    rig.exec.set_observer(&recorder);
    const Matrix x = Matrix::random(65, 96, 3);
    const Matrix before = x;
    rig.backend.add_positions(table.matrix, positions, 2, x.rows(), kSite);
    for (int64_t i = 0; i < 65; ++i) {
      std::vector<float> row(96);
      quant::unpack_row(table.matrix, positions[static_cast<size_t>(i)] + 2, row.data());
      for (int64_t k = 0; k < 96; ++k) {
        ASSERT_EQ(x.rows().row(i)[k], before.rows().row(i)[k] + row[static_cast<size_t>(k)]);
      }
    }
    EXPECT_TRUE(x.gaps_intact());
    ASSERT_EQ(recorder.entries.size(), 1U);
    EXPECT_TRUE(same_values(recorder.entries[0], x.rows()));
  }
}

TEST(AddPositionsDeathTest, BeyondTheTable) {
  const Weight table = random_weight(DType::kF32, 16, 32, 1);
  Rig rig(1);
  const Matrix x = Matrix::random(1, 32, 1);
  const std::vector<int64_t> positions = {14};
  rig.backend.add_positions(table.matrix, positions, 1, x.rows(), kSite);
  EXPECT_DEATH(rig.backend.add_positions(table.matrix, positions, 2, x.rows(), kSite), "n_rows");
}

// Watched or not, gathered rows are the rows of pack(), in the order asked for.
TEST(GatherPack, EqualsPackOfCopiedRows) {
  const Matrix x = Matrix::random(9, 200, 5);
  for (int n_threads = 1; n_threads <= 3; ++n_threads) {
    Rig rig(n_threads);
    for (const int64_t n : {0, 1, 8, 70}) {
      std::vector<int32_t> rows;
      const Matrix copies(n, 200);
      for (int64_t i = 0; i < n; ++i) {
        rows.push_back(static_cast<int32_t>(i * 5 % 9));
        std::copy_n(x.rows().row(rows.back()), 200, copies.rows().row(i));
      }
      Packed gathered(70, 200, all_forms());
      Packed watched(70, 200, all_forms());
      Packed apart(70, 200, all_forms());
      rig.backend.gather_pack(x.rows(), rows, gathered.rows, kSite);
      rig.backend.pack(copies.rows(), apart.rows, kSite);
      Recorder recorder;
      rig.exec.set_observer(&recorder);
      rig.backend.gather_pack(x.rows(), rows, watched.rows, kSite);
      rig.exec.set_observer(nullptr);
      ASSERT_TRUE(same_packed(gathered.rows, apart.rows)) << n;
      ASSERT_TRUE(same_packed(watched.rows, apart.rows)) << n;
      ASSERT_EQ(recorder.entries.size(), 1U);
      EXPECT_EQ(recorder.entries[0].type, DType::kI8);
      EXPECT_TRUE(same_values(recorder.entries[0], copies.rows()));
    }
  }
}

// Columns 3 + 10 h of each token, heads outermost.
TEST(PackHeads, CutsTheHeadsOutOfTheRows) {
  for (int n_threads = 1; n_threads <= 3; ++n_threads) {
    Rig rig(n_threads);
    for (const int64_t n : {1, 2, 33}) {
      const Matrix x = Matrix::random(n, 3 + 4 * 10 + 2, 5);
      const Matrix cut(4 * n, 7);
      for (int64_t head = 0; head < 4; ++head) {
        for (int64_t t = 0; t < n; ++t) {
          std::copy_n(x.rows().row(t) + 3 + head * 10, 7, cut.rows().row(head * n + t));
        }
      }
      Packed heads(4 * n, 7, all_forms());
      Packed watched(4 * n, 7, all_forms());
      Packed apart(4 * n, 7, all_forms());
      rig.backend.pack(cut.rows(), apart.rows, kSite);
      rig.backend.pack_heads(x.rows(), 4, 3, 10, heads.rows, kSite);
      Recorder recorder;
      rig.exec.set_observer(&recorder);
      rig.backend.pack_heads(x.rows(), 4, 3, 10, watched.rows, kSite);
      rig.exec.set_observer(nullptr);
      ASSERT_TRUE(same_packed(heads.rows, apart.rows)) << n;
      ASSERT_TRUE(same_packed(watched.rows, apart.rows)) << n;
      ASSERT_EQ(recorder.entries.size(), 1U);
      EXPECT_TRUE(same_values(recorder.entries[0], cut.rows()));
    }
  }
}

TEST(PackHeadsDeathTest, TheLastHeadMustFit) {
  Rig rig(1);
  const Matrix x = Matrix::random(2, 40, 5);
  Packed heads(8, 10, all_forms());
  rig.backend.pack_heads(x.rows(), 4, 0, 10, heads.rows, kSite);
  EXPECT_DEATH(rig.backend.pack_heads(x.rows(), 4, 1, 10, heads.rows, kSite), "n_cols");
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
