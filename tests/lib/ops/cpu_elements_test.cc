// Sums, scaling, limits and copies value by value, against plain loops, for any split over threads.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lib/ops/rig.h"

namespace fathom::ops {
namespace {

const Site kSite{.layer = 3, .name = "here"};

// change(rig, x) on random rows gives value(x, row, column) everywhere, is offered to the observer,
// and writes nothing between the rows.
template <class Change, class Value>
void expect_values(int64_t n_cols, const Change& change, const Value& value) {
  for (int n_threads = 1; n_threads <= 3; ++n_threads) {
    Rig rig(n_threads);
    for (const int64_t n : {0, 1, 2, 5, 65}) {
      const Matrix x = Matrix::random(n, n_cols, 1);
      const Matrix before = x;
      Recorder recorder;
      rig.exec.set_observer(&recorder);
      change(rig, x.rows());
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t k = 0; k < n_cols; ++k) {
          ASSERT_EQ(x.rows().row(i)[k], value(before.rows().row(i)[k], i, k)) << i << ' ' << k;
        }
      }
      EXPECT_TRUE(x.gaps_intact());
      ASSERT_EQ(recorder.entries.size(), 1U);
      EXPECT_EQ(recorder.entries[0].name, "here");
      EXPECT_EQ(recorder.entries[0].layer, 3);
      EXPECT_TRUE(same_values(recorder.entries[0], x.rows()));
    }
  }
}

TEST(Add, TwoRoundings) {
  const Matrix y = Matrix::random(65, 301, 2);
  for (const float scale : {1.0F, 0.22F, -3.0F}) {
    expect_values(
        301,
        [&](Rig& rig, const Rows& x) { rig.backend.add(x, y.part(0, x.n_rows), scale, kSite); },
        [&](float x, int64_t i, int64_t k) {
          const float scaled = scale * y.rows().row(i)[k];
          return x + scaled;
        });
  }
}

TEST(AddGated, WeighsByTheSigmoid) {
  const Matrix y = Matrix::random(65, 301, 2);
  const Matrix gate = Matrix::random(65, 1, 3, 30.0F);
  gate.rows().row(0)[0] = 0.0F;
  gate.rows().row(1)[0] = -1000.0F;
  gate.rows().row(2)[0] = 1000.0F;
  expect_values(
      301,
      [&](Rig& rig, const Rows& x) {
        rig.backend.add_gated(x, y.part(0, x.n_rows), gate.part(0, x.n_rows), kSite);
      },
      [&](float x, int64_t i, int64_t k) {
        const double g = gate.rows().row(i)[0];
        const auto weight = static_cast<float>(1.0 / (1.0 + std::exp(-g)));
        const float scaled = weight * y.rows().row(i)[k];
        return x + scaled;
      });
}

TEST(Scale, LongRowsInPieces) {
  expect_values(
      5001, [](Rig& rig, const Rows& x) { rig.backend.scale(x, 0.3F, kSite); },
      [](float x, int64_t, int64_t) { return 0.3F * x; });
}

TEST(Clamp, LongRowsInPieces) {
  expect_values(
      5001, [](Rig& rig, const Rows& x) { rig.backend.clamp(x, 0.75F, kSite); },
      [](float x, int64_t, int64_t) { return std::min(std::max(x, -0.75F), 0.75F); });
  Rig rig(1);
  const Matrix x = Matrix::random(1, 20, 1);
  x.rows().row(0)[7] = std::numeric_limits<float>::quiet_NaN();
  rig.backend.clamp(x.rows(), 0.75F, kSite);
  EXPECT_TRUE(std::isnan(x.rows().row(0)[7]));
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

// Heads of 5 values, 7 apart from column 2 on, to heads 5 apart from column 1 on.
TEST(CopyHeads, MovesColumnsOfEveryHead) {
  for (int n_threads = 1; n_threads <= 3; ++n_threads) {
    Rig rig(n_threads);
    for (const int64_t n : {0, 1, 66}) {
      const Matrix from = Matrix::random(n, 2 + 40 * 7, 1);
      const Matrix to = Matrix::random(n, 1 + 40 * 5 + 3, 2);
      const Matrix before = to;
      HeadCopy job;
      job.from = from.rows();
      job.from_first = 2;
      job.from_step = 7;
      job.to = to.rows();
      job.to_first = 1;
      job.to_step = 5;
      job.n_heads = 40;
      job.n_cols = 5;
      rig.backend.copy_heads(job);
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t k = 0; k < to.rows().n_cols; ++k) {
          const int64_t at = k - 1;
          const bool copied = at >= 0 && at < 200;
          const float expected =
              copied ? from.rows().row(i)[2 + at / 5 * 7 + at % 5] : before.rows().row(i)[k];
          ASSERT_EQ(to.rows().row(i)[k], expected) << i << ' ' << k;
        }
      }
      EXPECT_TRUE(to.gaps_intact());
    }
  }
}

// One head for all: step 0 reads the same columns again.
TEST(CopyHeads, OneHeadToMany) {
  Rig rig(1);
  const Matrix from = Matrix::random(3, 4, 1);
  const Matrix to(3, 12);
  HeadCopy job;
  job.from = from.rows();
  job.to = to.rows();
  job.to_step = 4;
  job.n_heads = 3;
  job.n_cols = 4;
  rig.backend.copy_heads(job);
  for (int64_t k = 0; k < 12; ++k) {
    EXPECT_EQ(to.rows().row(2)[k], from.rows().row(2)[k % 4]);
  }
}

TEST(CopyHeadsDeathTest, ColumnsMustExist) {
  Rig rig(1);
  const Matrix from = Matrix::random(3, 8, 1);
  const Matrix to(3, 8);
  HeadCopy job;
  job.from = from.rows();
  job.from_step = 4;
  job.to = to.rows();
  job.to_step = 4;
  job.n_heads = 2;
  job.n_cols = 4;
  rig.backend.copy_heads(job);
  job.to_first = 1;
  EXPECT_DEATH(rig.backend.copy_heads(job), "n_cols");
  job.to_first = 0;
  job.to_step = 2;
  EXPECT_DEATH(rig.backend.copy_heads(job), "to_step");
}

TEST(CheckFinite, ReportsTheLowestRow) {
  for (int n_threads = 1; n_threads <= 3; ++n_threads) {
    Rig rig(n_threads);
    const Matrix x = Matrix::random(9, 5001, 3);
    x.rows().row(0)[0] = std::numeric_limits<float>::max();
    x.rows().row(1)[7] = -std::numeric_limits<float>::denorm_min();
    rig.backend.check_finite(x.rows(), kSite);
    EXPECT_FALSE(rig.exec.take_fault().has_value());
    for (const float bad :
         {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
          std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::quiet_NaN()}) {
      x.rows().row(5)[5000] = bad;
      x.rows().row(7)[0] = bad;
      rig.backend.check_finite(x.rows(), kSite);
      const auto fault = rig.exec.take_fault();
      ASSERT_TRUE(fault.has_value());
      EXPECT_EQ(fault->row, 5);
      EXPECT_EQ(fault->name, "here");
    }
  }
}

}  // namespace
}  // namespace fathom::ops
