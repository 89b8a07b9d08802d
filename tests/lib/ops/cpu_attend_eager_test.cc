// The reference attention against sums worked out by hand, and flash against the reference.
#include <gtest/gtest.h>

#include <cmath>

#include "lib/ops/pages.h"
#include "lib/ops/rig.h"

namespace fathom::ops {
namespace {

Attend make_job(const Shape& shape, const Pages& pages, const Sequence& sequence,
                const SequenceRows& rows, const Matrix& out) {
  Attend job;
  job.q = sequence.q.part(rows.first_position, rows.n_rows);
  job.out = out.rows();
  job.n_heads = shape.n_heads;
  job.pages = pages.view();
  job.sequences = {&rows, 1};
  job.scale = 0.25F;
  return job;
}

// A query of zeros weighs all visible keys equally: the mean of their values.
TEST(Eager, ZeroQueryGivesTheMeanOfVisibleValues) {
  for (const PageType type : {PageType::kBF16, PageType::kF32, PageType::kInt8}) {
    const double tolerance = type == PageType::kInt8 ? 0.1 : 1e-4;  // a code is 1 / 127 of 71
    const Shape shape{.n_heads = 2, .n_kv_heads = 1, .head_dim = 3, .type = type};
    Rig rig(2);
    const Sequence sequence(shape, 70, 1, 0);
    for (int64_t i = 0; i < 70; ++i) {
      std::fill_n(sequence.q.rows().row(i), 6, 0.0F);
      for (int d = 0; d < 3; ++d) {
        sequence.v.rows().row(i)[d] = static_cast<float>(i + d);
      }
    }
    const Pages pages(shape, 4);
    store_all(rig, shape, pages, sequence);
    const SequenceRows rows = sequence.rows(0, 70, 0);
    const Matrix out(70, 6);
    Attend job = make_job(shape, pages, sequence, rows, out);
    job.kind = AttentionKind::kEager;
    rig.backend.attend(job, 0);
    EXPECT_NEAR(out.rows().row(69)[0], 34.5, tolerance);
    EXPECT_NEAR(out.rows().row(69)[5], 36.5, tolerance);
    EXPECT_NEAR(out.rows().row(10)[1], 6.0, tolerance);
    job.window = 5;
    rig.backend.attend(job, 0);
    EXPECT_NEAR(out.rows().row(69)[0], 67.0, 3 * tolerance);
    EXPECT_NEAR(out.rows().row(2)[0], 1.0, tolerance);
    EXPECT_TRUE(out.gaps_intact());
  }
}

// Two keys with scores s and 0: weights e^s / (e^s + 1).
TEST(Eager, TwoKeys) {
  const Shape shape{.n_heads = 1, .n_kv_heads = 1, .head_dim = 2, .type = PageType::kF32};
  Rig rig(1);
  const Sequence sequence(shape, 2, 1, 0);
  const float q[] = {2.0F, 1.0F};
  const float k0[] = {4.0F, 2.0F};
  const float k1[] = {0.0F, 0.0F};
  const float v0[] = {1.0F, 0.0F};
  const float v1[] = {0.0F, 1.0F};
  std::copy_n(q, 2, sequence.q.rows().row(1));
  std::copy_n(k0, 2, sequence.k.rows().row(0));
  std::copy_n(k1, 2, sequence.k.rows().row(1));
  std::copy_n(v0, 2, sequence.v.rows().row(0));
  std::copy_n(v1, 2, sequence.v.rows().row(1));
  const Pages pages(shape, 1);
  store_all(rig, shape, pages, sequence);
  const SequenceRows rows = sequence.rows(1, 1, 0);
  const Matrix out(1, 2);
  Attend job = make_job(shape, pages, sequence, rows, out);
  for (const AttentionKind kind : {AttentionKind::kEager, AttentionKind::kFlash}) {
    job.kind = kind;
    job.soft_cap = 0.0F;
    rig.backend.attend(job, 0);
    double s = 0.25 * 10.0;
    EXPECT_NEAR(out.rows().row(0)[0], std::exp(s) / (std::exp(s) + 1.0), 1e-6);
    EXPECT_NEAR(out.rows().row(0)[1], 1.0 / (std::exp(s) + 1.0), 1e-6);
    job.soft_cap = 2.0F;
    rig.backend.attend(job, 0);
    s = 2.0 * std::tanh(2.5 / 2.0);
    EXPECT_NEAR(out.rows().row(0)[0], std::exp(s) / (std::exp(s) + 1.0), 1e-6);
  }
}

// Scores 2.5 and 0 with a sink at 1 and a slope of 0.5 a position: the older key loses 0.5.
TEST(Eager, SinkAndSlope) {
  const Shape shape{
      .n_heads = 1, .n_kv_heads = 1, .head_dim = 2, .type = PageType::kF32, .narrow_values = 1};
  Rig rig(1);
  const Sequence sequence(shape, 2, 1, 0);
  const float q[] = {2.0F, 1.0F};
  const float k0[] = {4.0F, 2.0F};
  std::copy_n(q, 2, sequence.q.rows().row(1));
  std::copy_n(k0, 2, sequence.k.rows().row(0));
  std::fill_n(sequence.k.rows().row(1), 2, 0.0F);
  sequence.v.rows().row(0)[0] = 1.0F;
  sequence.v.rows().row(1)[0] = -2.0F;
  const Pages pages(shape, 1);
  store_all(rig, shape, pages, sequence);
  const SequenceRows rows = sequence.rows(1, 1, 0);
  const Matrix out(1, 1);
  const float sink = 1.0F;
  const float slope = 0.5F;
  Attend job = make_job(shape, pages, sequence, rows, out);
  job.sinks = &sink;
  for (const AttentionKind kind : {AttentionKind::kEager, AttentionKind::kFlash}) {
    job.kind = kind;
    job.slopes = nullptr;
    rig.backend.attend(job, 0);
    double total = std::exp(2.5) + 1.0 + std::exp(1.0);
    EXPECT_NEAR(out.rows().row(0)[0], (std::exp(2.5) - 2.0) / total, 1e-6);
    job.slopes = &slope;
    rig.backend.attend(job, 0);
    total = std::exp(2.0) + 1.0 + std::exp(1.0);
    EXPECT_NEAR(out.rows().row(0)[0], (std::exp(2.0) - 2.0) / total, 1e-6);
  }
}

class EagerPages : public testing::TestWithParam<PageType> {};

// Not bf16 pages: flash rounds its probabilities there.
TEST_P(EagerPages, FlashAgrees) {
  const Shape shape{
      .n_heads = 6, .n_kv_heads = 2, .head_dim = 24, .type = GetParam(), .narrow_values = 19};
  const std::vector<float> sinks = {0.5F, 3.0F, -2.0F, 9.0F, -80.0F, 1.0F};
  const std::vector<float> slopes = {0.5F, 0.25F, 0.125F, 0.0625F, 0.03125F, 0.015625F};
  Rig rig(2);
  const Sequence sequence(shape, 1200, 1, 0);
  const Pages pages(shape, 60);
  store_all(rig, shape, pages, sequence);
  for (const int64_t window : {0, 30, 800}) {
    for (const float soft_cap : {0.0F, 12.0F}) {
      const SequenceRows rows = sequence.rows(1160, 40, 0);
      const Matrix eager(40, 114);
      const Matrix flash(40, 114);
      Attend job = make_job(shape, pages, sequence, rows, flash);
      job.window = window;
      job.soft_cap = soft_cap;
      job.sinks = window != 30 ? sinks.data() : nullptr;
      job.slopes = window != 800 ? slopes.data() : nullptr;
      rig.backend.attend(job, 0);
      job.out = eager.rows();
      job.kind = AttentionKind::kEager;
      rig.backend.attend(job, 0);
      float largest = 0.0F;
      for (int64_t i = 0; i < 40; ++i) {
        for (int64_t d = 0; d < 114; ++d) {
          const float difference = std::fabs(eager.rows().row(i)[d] - flash.rows().row(i)[d]);
          largest = difference <= largest ? largest : difference;  // a NaN is the largest
        }
      }
      EXPECT_LE(largest, 1e-4F) << window << ' ' << soft_cap;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, EagerPages, testing::Values(PageType::kF32, PageType::kInt8));

}  // namespace
}  // namespace fathom::ops
