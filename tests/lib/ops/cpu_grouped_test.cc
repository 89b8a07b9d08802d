// Grouped products: every run of rows has the bits of its own linear (or gated linear), for any
// threads, with empty groups, and alone as in company.
#include <gtest/gtest.h>

#include "lib/ops/gated.h"
#include "lib/ops/rig.h"

namespace fathom::ops {
namespace {

constexpr int kLayer = 4;

// Where each group's rows begin; the sizes as given.
std::vector<int64_t> starts_of(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> starts = {0};
  for (const int64_t size : sizes) {
    starts.push_back(starts.back() + size);
  }
  return starts;
}

// Decode (a row for some experts), few and many rows side by side, more than a block of rows.
const std::vector<std::vector<int64_t>> kSizes = {
    {0, 1, 0, 1, 1}, {0, 0, 3, 0, 0}, {5, 0, 4, 1, 33}, {0, 300, 2, 16, 0}, {0, 0, 0, 0, 1}};

// Five matrices [n_out, 96] of one type, with biases.
struct Matrices {
  Matrices(DType type, int64_t n_out) : bias(Matrix::random(5, n_out, 77)) {
    for (uint32_t g = 0; g < 5; ++g) {
      storage.push_back(random_weight(type, n_out, 96, 10 + g));
      weights.push_back(storage.back().matrix);
      biases.push_back(bias.rows().row(g));
    }
  }

  std::vector<Weight> storage;
  std::vector<quant::PackedMatrix> weights;
  std::vector<const float*> biases;
  Matrix bias;
};

// The rows of group g by linear() alone.
void linear_alone(Rig& rig, const Matrices& matrices, const Rows& x, size_t g, const Rows& out) {
  const Input input(rig, x);
  const LinearPart part{.weight = matrices.weights[g],
                        .bias = matrices.biases.empty() ? nullptr : matrices.biases[g],
                        .out = out,
                        .name = "y"};
  rig.backend.linear(input.packed.rows, {&part, 1}, Epilogue::kStore, kLayer);
}

TEST(GroupedLinear, EveryRunHasTheBitsOfItsOwnLinear) {
  for (const DType type : {DType::kQ4_1, DType::kQ8_0, DType::kBF16, DType::kF32}) {
    for (const int64_t n_out : {20, 144, 1100}) {
      Matrices matrices(type, n_out);
      if (type == DType::kBF16) {
        matrices.biases.clear();
      }
      Rig lone(1);
      for (const auto& sizes : kSizes) {
        const std::vector<int64_t> starts = starts_of(sizes);
        const Matrix x = Matrix::random(starts.back(), 96, 9);
        const Matrix expected(starts.back(), n_out);
        for (size_t g = 0; g < 5; ++g) {
          if (sizes[g] > 0) {
            linear_alone(lone, matrices, x.part(starts[g], sizes[g]), g,
                         expected.part(starts[g], sizes[g]));
          }
        }
        for (int n_threads = 1; n_threads <= 3; ++n_threads) {
          Rig rig(n_threads);
          const Input input(rig, x.rows());
          const Matrix out(starts.back(), n_out);
          GroupedLinear job;
          job.weights = matrices.weights;
          job.biases = matrices.biases;
          job.first_rows = starts;
          job.out = out.rows();
          job.name = "experts";
          Recorder recorder;
          rig.exec.set_observer(n_threads == 2 ? &recorder : nullptr);
          rig.backend.grouped_linear(input.packed.rows, job, kLayer);
          ASSERT_TRUE(same_bits(out.rows(), expected.rows())) << n_out << ' ' << n_threads;
          ASSERT_TRUE(out.gaps_intact());
          if (n_threads == 2) {
            ASSERT_EQ(recorder.entries.size(), 1U);
            EXPECT_EQ(recorder.entries[0].name, "experts");
            EXPECT_EQ(recorder.entries[0].layer, kLayer);
            EXPECT_TRUE(same_values(recorder.entries[0], out.rows()));
          }
        }
      }
    }
  }
}

// Heads: group g's rows are all tokens, its results stand in columns 25 g .. 25 g + 20.
TEST(GroupedLinear, ColumnsPerGroup) {
  const Matrices matrices(DType::kQ8_0, 20);
  for (const int64_t n_tokens : {1, 3, 40}) {
    const std::vector<int64_t> starts = starts_of(std::vector<int64_t>(5, n_tokens));
    const Matrix x = Matrix::random(5 * n_tokens, 96, 9);
    for (int n_threads = 1; n_threads <= 3; ++n_threads) {
      Rig rig(n_threads);
      const Input input(rig, x.rows());
      const Matrix out = Matrix::random(n_tokens, 5 * 25, 1);
      const Matrix before = out;
      GroupedLinear job;
      job.weights = matrices.weights;
      job.biases = matrices.biases;
      job.first_rows = starts;
      job.out = out.rows();
      job.group_cols = 25;
      rig.backend.grouped_linear(input.packed.rows, job, kLayer);
      for (size_t g = 0; g < 5; ++g) {
        const Matrix alone(n_tokens, 20);
        linear_alone(rig, matrices, x.part(starts[g], n_tokens), g, alone.rows());
        for (int64_t t = 0; t < n_tokens; ++t) {
          for (int64_t k = 0; k < 25; ++k) {
            const int64_t column = static_cast<int64_t>(g) * 25 + k;
            ASSERT_EQ(out.rows().row(t)[column],
                      k < 20 ? alone.rows().row(t)[k] : before.rows().row(t)[column])
                << g << ' ' << t << ' ' << k;
          }
        }
      }
      EXPECT_TRUE(out.gaps_intact());
    }
  }
}

TEST(GroupedLinear, NoRowsAtAll) {
  const Matrices matrices(DType::kQ8_0, 20);
  Rig rig(2);
  const Matrix x(0, 96);
  const Input input(rig, Matrix::random(1, 96, 1).rows());
  Packed none(1, 96, all_forms());
  none.rows.resize(0);
  const std::vector<int64_t> starts(6, 0);
  const Matrix out(0, 20);
  GroupedLinear job;
  job.weights = matrices.weights;
  job.first_rows = starts;
  job.out = out.rows();
  rig.backend.grouped_linear(none.rows, job, kLayer);
  EXPECT_TRUE(out.gaps_intact());
}

// With one row for each of a few experts there are units for every thread.
TEST(GroupedLinear, BothWorkersClaimUnitsOfADecodeStep) {
  std::vector<Weight> storage;
  std::vector<quant::PackedMatrix> weights;
  for (uint32_t g = 0; g < 4; ++g) {
    storage.push_back(random_weight(DType::kQ4_1, 1024, 1024, g));
    weights.push_back(storage.back().matrix);
  }
  const std::vector<int64_t> starts = {0, 0, 1, 1, 2};
  Rig rig(2);
  const Matrix x = Matrix::random(2, 1024, 1);
  const Input input(rig, x.rows());
  const Matrix out(2, 1024);
  GroupedLinear job;
  job.weights = weights;
  job.first_rows = starts;
  job.out = out.rows();
  const auto both_claimed = [&] {
    const auto counts = rig.threads.claim_counts();
    return counts[0] > 0 && counts[1] > 0;
  };
  for (int round = 0; round < 50 && !both_claimed(); ++round) {
    rig.backend.grouped_linear(input.packed.rows, job, kLayer);
  }
  EXPECT_TRUE(both_claimed());
  const auto counts = rig.threads.claim_counts();
  EXPECT_GE(counts[0] + counts[1], 16U);  // 8 a thread
}

TEST(GroupedLinearDeathTest, RunsMustCoverTheRows) {
  const Matrices matrices(DType::kQ8_0, 20);
  Rig rig(1);
  const Matrix x = Matrix::random(4, 96, 1);
  const Input input(rig, x.rows());
  const Matrix out(4, 20);
  GroupedLinear job;
  job.weights = matrices.weights;
  job.out = out.rows();
  const std::vector<std::vector<int64_t>> wrong = {
      {0, 1, 1, 1, 1, 3}, {1, 1, 1, 1, 1, 4}, {0, 3, 2, 4, 4, 4}, {0, 1, 4}};
  for (const auto& starts : wrong) {
    job.first_rows = starts;
    EXPECT_DEATH(rig.backend.grouped_linear(input.packed.rows, job, kLayer), "first_rows");
  }
  const std::vector<int64_t> right = {0, 1, 1, 1, 1, 4};
  job.first_rows = right;
  job.group_cols = 19;
  EXPECT_DEATH(rig.backend.grouped_linear(input.packed.rows, job, kLayer), "group_cols");
}

// Experts with and without gate, joined or apart, clamped: row by row the bits of gated_linear().
TEST(GroupedGated, EveryRunHasTheBitsOfItsOwnGatedLinear) {
  for (const int variant : {0, 1, 2, 3}) {
    constexpr int64_t kSize = 72;
    std::vector<GatedWeights> storage;
    std::vector<GatedLinear> experts;
    const Matrix bias = Matrix::random(2, kSize, 8);
    storage.reserve(5);
    for (uint32_t g = 0; g < 5; ++g) {
      storage.emplace_back(DType::kQ4_1, kSize, variant == 1 || g == 2, 10 + 2 * g);
      GatedLinear expert = storage.back().linear;
      if (variant == 2) {
        expert.hidden.clamp = 1.25F;
        expert.gate_bias = bias.rows().row(0);
        expert.up_bias = bias.rows().row(1);
      } else if (variant == 3) {
        expert.gate = {};
        expert.hidden.activation = kernels::Activation::kRelu2;
      }
      experts.push_back(expert);
    }
    for (const auto& sizes : kSizes) {
      const std::vector<int64_t> starts = starts_of(sizes);
      const int64_t n = starts.back();
      const Matrix x = Matrix::random(n, 96, 9);
      Rig lone(1);
      const Matrix expected(n, kSize);
      for (size_t g = 0; g < 5; ++g) {
        if (sizes[g] > 0) {
          const Input input(lone, x.part(starts[g], sizes[g]));
          const Matrix hidden = hidden_in_steps(lone, input.packed.rows, experts[g]);
          for (int64_t i = 0; i < sizes[g]; ++i) {
            std::copy_n(hidden.rows().row(i), kSize, expected.rows().row(starts[g] + i));
          }
        }
      }
      Packed apart(n, kSize, all_forms());
      lone.backend.pack(expected.rows(), apart.rows, {.layer = kLayer, .name = "h"});
      for (int n_threads = 1; n_threads <= 3; ++n_threads) {
        Rig rig(n_threads);
        const Input input(rig, x.rows());
        const GroupedGated job{.experts = experts, .first_rows = starts, .token_of = {}};
        Packed plain(n, kSize, all_forms());
        Packed watched(n, kSize, all_forms());
        rig.backend.grouped_gated_linear(input.packed.rows, job, plain.rows, kLayer);
        Recorder recorder;
        rig.exec.set_observer(&recorder);
        rig.backend.grouped_gated_linear(input.packed.rows, job, watched.rows, kLayer);
        ASSERT_TRUE(same_packed(plain.rows, apart.rows)) << variant << ' ' << n_threads;
        ASSERT_TRUE(same_packed(watched.rows, apart.rows)) << variant << ' ' << n_threads;
        ASSERT_EQ(recorder.entries.size(), 1U);
        EXPECT_EQ(recorder.entries[0].name, "expert_hidden");
        EXPECT_EQ(recorder.entries[0].type, DType::kI8);
        EXPECT_TRUE(same_values(recorder.entries[0], expected.rows()));
      }
    }
  }
}

TEST(GroupedGated, OverflowIsAFaultOfItsRow) {
  std::vector<float> file(64 * 32, 1e25F);
  const Weight huge = pack_weight(DType::kF32, 64, 32, std::as_bytes(std::span(file)));
  GatedLinear linear;
  linear.gate = huge.matrix;
  linear.up = huge.matrix;
  linear.hidden.activation = kernels::Activation::kRelu;
  const std::vector<GatedLinear> experts(3, linear);
  const std::vector<int64_t> starts = {0, 10, 10, 40};
  Rig rig(2);
  Matrix x(40, 32);
  for (int64_t i = 0; i < 40; ++i) {
    std::fill_n(x.rows().row(i), 32, i == 13 || i == 30 ? 1.0F : 0.0F);
  }
  const Input input(rig, x.rows());
  Packed out(40, 64, all_forms());
  rig.backend.grouped_gated_linear(input.packed.rows,
                                   {.experts = experts, .first_rows = starts, .token_of = {}},
                                   out.rows, kLayer);
  const auto fault = rig.exec.take_fault();
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->row, 13);
  EXPECT_EQ(fault->name, "expert_hidden");
  EXPECT_EQ(fault->layer, kLayer);
  std::vector<int32_t> token_of(40, 5);
  token_of[13] = 2;
  rig.backend.grouped_gated_linear(input.packed.rows,
                                   {.experts = experts, .first_rows = starts, .token_of = token_of},
                                   out.rows, kLayer);
  EXPECT_EQ(rig.exec.take_fault()->row, 2) << "the batch's row of sorted row 13";
}

}  // namespace
}  // namespace fathom::ops
