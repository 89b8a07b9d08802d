// Norm and rotation of heads, and where K and V land in the pages, for any chunk and any threads.
#include <gtest/gtest.h>

#include <cmath>

#include "base/half.h"
#include "lib/ops/pages.h"
#include "lib/ops/rig.h"

namespace fathom::ops {
namespace {

// Position 17 of a page: K in tile 1, column 1; V in pair 8, second.
TEST(RotateAndStore, PutsValuesWhereThePageLayoutSays) {
  for (const PageType type : {PageType::kBF16, PageType::kF32}) {
    const Shape shape{.n_heads = 2, .n_kv_heads = 2, .head_dim = 4, .type = type};
    Rig rig(1);
    const Sequence sequence(shape, 82, 3, 0);
    for (int d = 0; d < 8; ++d) {
      sequence.k.rows().row(81)[d] = static_cast<float>(d + 1);
      sequence.v.rows().row(81)[d] = static_cast<float>(-d - 1);
    }
    const Pages pages(shape, 8);
    store_all(rig, shape, pages, sequence);
    const int32_t page = sequence.table[1];
    for (int head = 0; head < 2; ++head) {
      for (int d = 0; d < 4; ++d) {
        float k = 0.0F;
        float v = 0.0F;
        if (type == PageType::kF32) {
          k = reinterpret_cast<const float*>(pages.view().k_of(page, head))[(1 * 4 + d) * 16 + 1];
          v = reinterpret_cast<const float*>(pages.view().v_of(page, head))[17 * 4 + d];
        } else {
          const auto* ks = reinterpret_cast<const uint16_t*>(pages.view().k_of(page, head));
          const auto* vs = reinterpret_cast<const uint16_t*>(pages.view().v_of(page, head));
          k = bf16_to_f32(ks[(1 * 2 + d / 2) * 32 + 1 * 2 + d % 2]);
          v = bf16_to_f32(vs[(8 * 4 + d) * 2 + 1]);
        }
        EXPECT_EQ(k, static_cast<float>(4 * head + d + 1));
        EXPECT_EQ(v, static_cast<float>(-4 * head - d - 1));
      }
    }
  }
}

struct RopeTables {
  std::vector<float> cos;
  std::vector<float> sin;
};

// Norm over each head, then the rotation; the rest of the head stays, v is only stored.
TEST(RotateAndStore, NormsThenRotatesEachHead) {
  const Shape shape{.n_heads = 2, .n_kv_heads = 1, .head_dim = 4, .type = PageType::kF32};
  Rig rig(1);
  Recorder recorder;
  rig.exec.set_observer(&recorder);
  const Sequence sequence(shape, 1, 3, 0);
  const float q[] = {3.0F, 0.0F, 4.0F, 0.0F, 1.0F, 1.0F, 1.0F, 1.0F};
  std::copy_n(q, 8, sequence.q.rows().row(0));
  const float weight[] = {1.0F, 1.0F, 1.0F, 2.0F};
  const Norm norm{.weight = weight, .eps = 0.0F};
  const RopeTables tables{.cos = {0.0F}, .sin = {1.0F}};  // a quarter turn of one pair
  const Pages pages(shape, 1);
  const SequenceRows rows = sequence.rows(0, 1, 0);
  const Matrix k_before = sequence.k;
  RotateAndStore job;
  job.q = sequence.q.rows();
  job.k = sequence.k.rows();
  job.v = sequence.v.rows();
  job.n_heads = 2;
  job.n_kv_heads = 1;
  job.head_dim = 4;
  job.value_dim = 4;
  job.q_norm = &norm;
  job.rope = {.cos = tables.cos.data(), .sin = tables.sin.data(), .n_pairs = 1};
  job.pages = pages.view();
  job.sequences = {&rows, 1};
  rig.backend.rotate_and_store(job, 7);
  // Root mean square 2.5 and 1; the pair (a, b) turns to (-b, a).
  const float expected[] = {0.0F, 1.2F, 1.6F, 0.0F, -1.0F, 1.0F, 1.0F, 2.0F};
  for (int d = 0; d < 8; ++d) {
    EXPECT_NEAR(sequence.q.rows().row(0)[d], expected[d], 1e-6) << d;
  }
  EXPECT_EQ(sequence.k.rows().row(0)[0], -k_before.rows().row(0)[1]);
  EXPECT_EQ(sequence.k.rows().row(0)[1], k_before.rows().row(0)[0]);
  EXPECT_EQ(sequence.k.rows().row(0)[3], k_before.rows().row(0)[3]);
  ASSERT_EQ(recorder.entries.size(), 2U);
  EXPECT_EQ(recorder.entries[0].name, "q_rope");
  EXPECT_EQ(recorder.entries[0].shape, (std::vector<int64_t>{1, 2, 4}));
  EXPECT_EQ(recorder.entries[1].name, "k_rope");
  EXPECT_EQ(recorder.entries[1].shape, (std::vector<int64_t>{1, 1, 4}));
  EXPECT_EQ(recorder.entries[1].layer, 7);
}

// Values narrower than keys: K of head 1 starts behind V of head 0.
TEST(RotateAndStore, NarrowValues) {
  const Shape shape{
      .n_heads = 2, .n_kv_heads = 2, .head_dim = 6, .type = PageType::kF32, .narrow_values = 3};
  Rig rig(1);
  const Sequence sequence(shape, 70, 3, 0);
  const Pages pages(shape, 8);
  store_all(rig, shape, pages, sequence);
  const int32_t page = sequence.table[1];  // position 66: slot 2
  for (int head = 0; head < 2; ++head) {
    const auto* k = reinterpret_cast<const float*>(pages.view().k_of(page, head));
    const auto* v = reinterpret_cast<const float*>(pages.view().v_of(page, head));
    for (int d = 0; d < 6; ++d) {
      EXPECT_EQ(k[d * 16 + 2], sequence.k.rows().row(66)[head * 6 + d]);
    }
    for (int d = 0; d < 3; ++d) {
      EXPECT_EQ(v[2 * 3 + d], sequence.v.rows().row(66)[head * 3 + d]);
    }
  }
}

// How the heads of one row are normed and turned.
struct HeadCase {
  NormKind kind = NormKind::kRms;
  int64_t norm_stride = 0;
  bool norm_after_rope = false;
  int rope_first = 0;
};

// One head in double: the norm before or after a rotation of pairs (2i, 2i + 1).
std::vector<double> head_by_hand(const HeadCase& test, const float* x, const float* weight,
                                 const float* bias, const RopeTables& tables) {
  std::vector<double> values(x, x + 8);
  const auto norm = [&] {
    double mean = 0.0;
    double squares = 0.0;
    for (const double value : values) {
      mean += test.kind == NormKind::kLayer ? value / 8.0 : 0.0;
    }
    for (const double value : values) {
      squares += (value - mean) * (value - mean) / 8.0;
    }
    for (size_t d = 0; d < 8; ++d) {
      values[d] = (values[d] - mean) / std::sqrt(squares + 1e-5) * weight[d];
      values[d] += test.kind == NormKind::kLayer ? bias[d] : 0.0;
    }
  };
  if (!test.norm_after_rope) {
    norm();
  }
  for (size_t pair = 0; pair < 2; ++pair) {
    const size_t at = static_cast<size_t>(test.rope_first) + 2 * pair;
    const double a = values[at];
    const double b = values[at + 1];
    values[at] = a * tables.cos[pair] - b * tables.sin[pair];
    values[at + 1] = b * tables.cos[pair] + a * tables.sin[pair];
  }
  if (test.norm_after_rope) {
    norm();
  }
  return values;
}

TEST(RotateAndStore, NormPerHeadBeforeOrAfterAPartialRotation) {
  const HeadCase cases[] = {
      {},
      {.norm_after_rope = true},
      {.norm_stride = 8},
      {.rope_first = 4},
      {.kind = NormKind::kLayer, .norm_stride = 8, .norm_after_rope = true, .rope_first = 4},
  };
  const Shape shape{.n_heads = 3, .n_kv_heads = 3, .head_dim = 8, .type = PageType::kF32};
  const RopeTables tables{.cos = {0.6F, -0.28F}, .sin = {0.8F, 0.96F}};
  const Matrix weight = Matrix::random(1, 24, 5, 1.0F);
  const Matrix bias = Matrix::random(1, 24, 6, 1.0F);
  for (const HeadCase& test : cases) {
    Rig rig(1);
    const Sequence sequence(shape, 1, 3, 0);
    const Matrix q = sequence.q;
    const Matrix k = sequence.k;
    const Pages pages(shape, 1);
    const SequenceRows rows = sequence.rows(0, 1, 0);
    const Norm norm{.weight = weight.rows().data,
                    .bias = test.kind == NormKind::kLayer ? bias.rows().data : nullptr,
                    .eps = 1e-5F,
                    .kind = test.kind};
    RotateAndStore job;
    job.q = sequence.q.rows();
    job.k = sequence.k.rows();
    job.v = sequence.v.rows();
    job.n_heads = 3;
    job.n_kv_heads = 3;
    job.head_dim = 8;
    job.value_dim = 8;
    job.q_norm = &norm;
    job.k_norm = &norm;
    job.norm_stride = test.norm_stride;
    job.norm_after_rope = test.norm_after_rope;
    job.rope_first = test.rope_first;
    job.rope = {.cos = tables.cos.data(),
                .sin = tables.sin.data(),
                .n_pairs = 2,
                .style = kernels::RopeStyle::kPairs};
    job.pages = pages.view();
    job.sequences = {&rows, 1};
    rig.backend.rotate_and_store(job, 0);
    for (int head = 0; head < 3; ++head) {
      const int64_t at = head * test.norm_stride;
      const float* w = weight.rows().data + at;
      const float* b = bias.rows().data + at;
      const auto q_head = head_by_hand(test, q.rows().data + head * 8, w, b, tables);
      const auto k_head = head_by_hand(test, k.rows().data + head * 8, w, b, tables);
      for (int d = 0; d < 8; ++d) {
        const auto index = static_cast<size_t>(d);
        ASSERT_NEAR(job.q.row(0)[head * 8 + d], q_head[index], 2e-6) << &test - cases << ' ' << d;
        ASSERT_NEAR(job.k.row(0)[head * 8 + d], k_head[index], 2e-6) << &test - cases << ' ' << d;
        const auto* stored = reinterpret_cast<const float*>(pages.view().k_of(0, head));
        ASSERT_EQ(stored[d * 16], job.k.row(0)[head * 8 + d]);
      }
    }
  }
}

// Rows [first, first + count), behind 16 rows of another content that no step may touch.
Matrix behind_other_rows(const Matrix& all, int64_t first, int64_t count) {
  const int64_t n_cols = all.rows().n_cols;
  Matrix result = Matrix::random(16 + count, n_cols, 99);
  for (int64_t i = 0; i < count; ++i) {
    std::copy_n(all.rows().row(first + i), n_cols, result.rows().row(16 + i));
  }
  return result;
}

// A sequence stored by several workers in one step, row by row, and in chunks that begin inside a
// page and inside a run of 16 positions.
TEST(RotateAndStore, AnyChunkAnyThreadsTheSamePages) {
  for (const PageType type : {PageType::kBF16, PageType::kF32, PageType::kInt8}) {
    const Shape shape{.n_heads = 4, .n_kv_heads = 2, .head_dim = 6, .type = type};
    const Sequence sequence(shape, 300, 3, 0);
    const Pages once(shape, 20);
    Rig lone(1);
    store_all(lone, shape, once, sequence);
    for (int n_threads = 1; n_threads <= 3; ++n_threads) {
      Rig rig(n_threads);
      for (const int64_t chunk : {1, 7, 100, 300}) {
        const Pages pages(shape, 20);
        for (int64_t first = 0; first < 300; first += chunk) {
          const int64_t count = std::min(chunk, 300 - first);
          const SequenceRows rows = sequence.rows(first, count, 0);
          RotateAndStore job;
          const Matrix q = behind_other_rows(sequence.q, first, count);
          const Matrix k = behind_other_rows(sequence.k, first, count);
          const Matrix v = behind_other_rows(sequence.v, first, count);
          job.q = q.part(16, count);
          job.k = k.part(16, count);
          job.v = v.part(16, count);
          job.n_heads = 4;
          job.n_kv_heads = 2;
          job.head_dim = 6;
          job.value_dim = 6;
          job.pages = pages.view();
          job.sequences = {&rows, 1};
          rig.backend.rotate_and_store(job, 0);
        }
        const auto n_bytes = static_cast<size_t>(20 * pages.view().page_stride_bytes);
        ASSERT_EQ(std::memcmp(pages.view().base, once.view().base, n_bytes), 0) << chunk;
      }
    }
  }
}

}  // namespace
}  // namespace fathom::ops
