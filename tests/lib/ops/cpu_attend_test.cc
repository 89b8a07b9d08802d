// Attention: the same bits for a row alone, in any chunk, in any
// company, with spans as units or not, for any number of threads.
#include <gtest/gtest.h>

#include <cmath>

#include "lib/ops/pages.h"
#include "lib/ops/rig.h"

namespace fathom::ops {
namespace {

struct Mask {
  int64_t window = 0;
  float soft_cap = 0.0F;
  bool sinks = false;
  bool slopes = false;
};

// Of up to 71 heads: sinks around 2, slopes as ALiBi has them.
std::vector<float> sinks_of(int n_heads) {
  std::vector<float> sinks;
  for (int head = 0; head < n_heads; ++head) {
    sinks.push_back(2.0F - 1.5F * static_cast<float>(head % 3));
  }
  return sinks;
}

std::vector<float> slopes_of(int n_heads) {
  std::vector<float> slopes;
  for (int head = 0; head < n_heads; ++head) {
    slopes.push_back(std::exp2(-8.0F * static_cast<float>(head + 1) / static_cast<float>(n_heads)));
  }
  return slopes;
}

// One step: the given rows of sequences through attend(); gives [n_rows, n_heads * value_dim].
struct StepRows {
  const Sequence* sequence;
  int64_t first;
  int64_t count;
};

Matrix attend_step(Rig& rig, const Shape& shape, const Pages& pages, const Mask& mask,
                   const std::vector<StepRows>& step) {
  const int64_t n_cols = int64_t{shape.n_heads} * shape.head_dim;
  int64_t n_rows = 0;
  std::vector<SequenceRows> rows;
  for (const StepRows& part : step) {
    rows.push_back(part.sequence->rows(part.first, part.count, n_rows));
    n_rows += part.count;
  }
  const Matrix q(n_rows, n_cols);
  for (size_t s = 0; s < step.size(); ++s) {
    for (int64_t i = 0; i < step[s].count; ++i) {
      std::copy_n(step[s].sequence->q.rows().row(step[s].first + i), n_cols,
                  q.rows().row(rows[s].first_row + i));
    }
  }
  Matrix out(n_rows, int64_t{shape.n_heads} * shape.value_dim());
  Attend job;
  job.q = q.rows();
  job.out = out.rows();
  job.n_heads = shape.n_heads;
  job.pages = pages.view();
  job.sequences = rows;
  job.window = mask.window;
  job.soft_cap = mask.soft_cap;
  job.scale = 0.25F;
  const std::vector<float> sinks = sinks_of(shape.n_heads);
  const std::vector<float> slopes = slopes_of(shape.n_heads);
  job.sinks = mask.sinks ? sinks.data() : nullptr;
  job.slopes = mask.slopes ? slopes.data() : nullptr;
  rig.backend.attend(job, 0);
  EXPECT_TRUE(out.gaps_intact());
  return out;
}

// One head of one row in double, straight from the stored rows: no pages, no spans.
std::vector<double> attend_by_hand(const Shape& shape, const Sequence& sequence, const Mask& mask,
                                   int64_t position, int head) {
  const int kv_head = head / (shape.n_heads / shape.n_kv_heads);
  const float* q = sequence.q.rows().row(position) + head * shape.head_dim;
  const int64_t first = mask.window > 0 ? std::max<int64_t>(0, position - mask.window + 1) : 0;
  const int value_dim = shape.value_dim();
  const auto index = static_cast<size_t>(head);
  std::vector<double> sums(static_cast<size_t>(value_dim), 0.0);
  double total = mask.sinks ? std::exp(sinks_of(shape.n_heads)[index]) : 0.0;
  for (int64_t j = first; j <= position; ++j) {
    const float* k = sequence.k.rows().row(j) + kv_head * shape.head_dim;
    const float* v = sequence.v.rows().row(j) + kv_head * value_dim;
    double score = 0.0;  // below 50 for these rows: no maximum needs to be taken away
    for (int d = 0; d < shape.head_dim; ++d) {
      score += static_cast<double>(q[d]) * k[d];
    }
    score *= 0.25;
    if (mask.soft_cap > 0.0F) {
      score = mask.soft_cap * std::tanh(score / mask.soft_cap);
    }
    if (mask.slopes) {
      score -= slopes_of(shape.n_heads)[index] * static_cast<double>(position - j);
    }
    const double weight = std::exp(score);
    total += weight;
    for (int d = 0; d < value_dim; ++d) {
      sums[static_cast<size_t>(d)] += weight * v[d];
    }
  }
  for (double& sum : sums) {
    sum /= total;
  }
  return sums;
}

constexpr Mask kMasks[] = {
    {},
    {.window = 100},
    {.window = 700, .soft_cap = 5.0F},
    {.sinks = true},
    {.slopes = true},
    {.window = 600, .soft_cap = 9.0F, .sinks = true, .slopes = true},
};

TEST(Attend, AgreesWithDoublesOverPlainRows) {
  for (const Mask& mask : kMasks) {
    const Shape shape{.n_heads = 4,
                      .n_kv_heads = 2,
                      .head_dim = 16,
                      .type = PageType::kF32,
                      .narrow_values = mask.slopes ? 12 : 0};
    Rig rig(2);
    const Sequence sequence(shape, 1100, 1, 0);
    const Pages pages(shape, 60);
    store_all(rig, shape, pages, sequence);
    const Matrix out = attend_step(rig, shape, pages, mask, {{&sequence, 0, 1100}});
    for (const int64_t position : {0, 1, 63, 64, 511, 512, 700, 1023, 1024, 1099}) {
      for (int head = 0; head < shape.n_heads; ++head) {
        const auto expected = attend_by_hand(shape, sequence, mask, position, head);
        for (int d = 0; d < shape.value_dim(); ++d) {
          ASSERT_NEAR(out.rows().row(position)[head * shape.value_dim() + d],
                      expected[static_cast<size_t>(d)], 5e-5)
              << &mask - kMasks << ' ' << position << ' ' << head << ' ' << d;
        }
      }
    }
  }
}

// All rows of a long prompt in one step (units run over spans), against rows alone (spans are
// units) and chunks between.
TEST(Attend, AnyChunkAnyThreadsTheSameBits) {
  for (const PageType type : {PageType::kBF16, PageType::kF32, PageType::kInt8}) {
    for (const Mask& mask : kMasks) {
      const Shape shape{
          .n_heads = 3, .n_kv_heads = 1, .head_dim = 8, .type = type, .narrow_values = 5};
      Rig lone(1);
      const Sequence sequence(shape, 1100, 3, 1);
      const Pages pages(shape, 60);
      store_all(lone, shape, pages, sequence);
      const Matrix whole = attend_step(lone, shape, pages, mask, {{&sequence, 0, 1100}});
      for (int n_threads = 1; n_threads <= 3; ++n_threads) {
        Rig rig(n_threads);
        for (const int64_t count : {1, 3, 4, 5, 22, 65}) {
          for (const int64_t first : {0, 61, 508, 512, 1022, 1035}) {
            const Matrix chunk = attend_step(rig, shape, pages, mask, {{&sequence, first, count}});
            ASSERT_TRUE(same_bits(chunk.rows(), whole.part(first, count)))
                << first << " + " << count << " mask " << &mask - kMasks;
          }
        }
      }
    }
  }
}

// Decodes and prompts of several sequences in one step; the pool's split buffers are too small for
// all of them, so some are split and some are not.
TEST(Attend, AnyCompanyTheSameBits) {
  const Shape shape{.n_heads = 4, .n_kv_heads = 1, .head_dim = 16, .type = PageType::kBF16};
  Rig lone(1);
  const Sequence a(shape, 1300, 1, 0);
  const Sequence b(shape, 600, 5, 1);
  const Sequence c(shape, 40, 9, 2);
  const Pages pages(shape, 70);
  for (const Sequence* sequence : {&a, &b, &c}) {
    store_all(lone, shape, pages, *sequence);
  }
  const std::vector<std::vector<StepRows>> steps = {
      {{&a, 1299, 1}, {&b, 599, 1}, {&c, 39, 1}},
      {{&c, 0, 40}, {&a, 1298, 2}, {&b, 520, 80}},
      {{&b, 596, 4}, {&a, 1296, 4}, {&c, 7, 1}},
  };
  const Mask mask{.sinks = true, .slopes = true};
  const SplitLimits small{.max_decode_rows = 4, .n_heads = 4, .head_dim = 16, .max_context = 1024};
  for (int n_threads = 1; n_threads <= 3; ++n_threads) {
    for (const SplitLimits& limits : {kRigLimits, small, SplitLimits{}}) {
      Rig rig(n_threads, limits);
      for (const auto& step : steps) {
        const Matrix together = attend_step(rig, shape, pages, mask, step);
        int64_t row = 0;
        for (const StepRows& part : step) {
          const Matrix alone = attend_step(lone, shape, pages, mask, {part});
          ASSERT_TRUE(same_bits(alone.rows(), together.part(row, part.count)));
          row += part.count;
        }
      }
    }
  }
}

// Groups that do not divide 64, more than 64 heads a group, odd and large heads.
TEST(Attend, OddShapes) {
  const Shape shapes[] = {{.n_heads = 71, .n_kv_heads = 1, .head_dim = 5, .type = PageType::kBF16},
                          {.n_heads = 14, .n_kv_heads = 2, .head_dim = 33, .type = PageType::kF32},
                          {.n_heads = 3, .n_kv_heads = 3, .head_dim = 512, .type = PageType::kBF16},
                          {.n_heads = 9, .n_kv_heads = 3, .head_dim = 66, .type = PageType::kInt8},
                          {.n_heads = 16,
                           .n_kv_heads = 1,
                           .head_dim = 576,
                           .type = PageType::kF32,
                           .narrow_values = 512}};
  for (const Shape& shape : shapes) {
    Rig rig(2, {.max_decode_rows = 4, .n_heads = 71, .head_dim = 512, .max_context = 600});
    const Sequence sequence(shape, 530, 2, 0);
    const Pages pages(shape, 30);
    store_all(rig, shape, pages, sequence);
    const Matrix whole = attend_step(rig, shape, pages, {}, {{&sequence, 500, 30}});
    for (const int64_t position : {500, 511, 512, 529}) {
      const Matrix alone = attend_step(rig, shape, pages, {}, {{&sequence, position, 1}});
      ASSERT_TRUE(same_bits(alone.rows(), whole.part(position - 500, 1))) << shape.head_dim;
      const auto expected = attend_by_hand(shape, sequence, {}, position, shape.n_heads - 1);
      const float* head = alone.rows().row(0) + (shape.n_heads - 1) * shape.value_dim();
      const double tolerance = shape.type == PageType::kF32 ? 1e-4 : 2e-1;
      for (int d = 0; d < shape.value_dim(); ++d) {
        ASSERT_NEAR(head[d], expected[static_cast<size_t>(d)], tolerance);
      }
    }
  }
}

// A page without a visible key is not read: poison in it changes nothing.
TEST(Attend, PagesBehindTheWindowAreNotTouched) {
  const Shape shape{.n_heads = 2, .n_kv_heads = 1, .head_dim = 8, .type = PageType::kF32};
  Rig rig(2);
  Sequence sequence(shape, 1100, 3, 0);
  const Pages pages(shape, 60);
  store_all(rig, shape, pages, sequence);
  const Mask mask{.window = 70};
  const Matrix before = attend_step(rig, shape, pages, mask, {{&sequence, 1097, 3}});
  const int64_t first_seen = 1097 - 70 + 1;
  for (int64_t page = 0; page < first_seen / kPageTokens; ++page) {
    sequence.table[static_cast<size_t>(page)] = -1;
  }
  const Matrix after = attend_step(rig, shape, pages, mask, {{&sequence, 1097, 3}});
  EXPECT_TRUE(same_bits(before.rows(), after.rows()));
}

}  // namespace
}  // namespace fathom::ops
