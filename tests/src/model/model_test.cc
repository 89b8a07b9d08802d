// The trunk's promises on a tiny model: the same bits with any chunking, thread count, instruction
// set and company in the batch; flash near eager; a trace of what flows.
#include "model/model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "support/model_rig.h"

namespace fathom::model {
namespace {

using test::ModelRig;
using test::random_ids;
using test::RigOptions;
using test::tiny_gguf;
using test::TinySizes;

std::vector<float> run(const TinySizes& sizes, const RigOptions& options, int64_t n,
                       int64_t chunk) {
  ModelRig rig(tiny_gguf(sizes).parse(), options);
  return rig.logits(random_ids(n, sizes.n_vocab, 5), chunk);
}

// Bit equality; a NaN anywhere is a failure of its own.
void expect_same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_TRUE(std::isfinite(a[i])) << i;
    ASSERT_EQ(a[i], b[i]) << "value " << i;
  }
}

// "0 q [3, 96]" per event.
class Recorder final : public Observer {
 public:
  void on_tensor(const TensorEvent& event) override {
    lines.push_back(std::to_string(event.layer) + " " + std::string(event.name) + " " +
                    format_shape(event.shape));
    int64_t count = 1;
    for (const int64_t dim : event.shape) {
      count *= dim;
    }
    EXPECT_EQ(static_cast<int64_t>(event.values.size()), count) << lines.back();
  }

  std::vector<std::string> lines;
};

class ModelByType : public testing::TestWithParam<DType> {
 protected:
  static TinySizes sizes() {
    TinySizes s;
    s.weight_type = GetParam();
    s.hidden = 256;  // K-quants need whole blocks of 256
    s.ffn = 512;
    s.head_dim = 64;
    return s;
  }
};

TEST_P(ModelByType, EveryChunkingGivesTheSameBits) {
  const auto whole = run(sizes(), {}, 45, 45);
  for (const int64_t chunk : {1, 2, 4, 5, 7, 32}) {
    expect_same_bits(whole, run(sizes(), {}, 45, chunk));
  }
}

TEST_P(ModelByType, EveryThreadCountGivesTheSameBits) {
  const auto one = run(sizes(), {}, 33, 33);
  for (const int n : {2, 3}) {
    RigOptions options;
    options.n_threads = n;
    expect_same_bits(one, run(sizes(), options, 33, 33));
    expect_same_bits(one, run(sizes(), options, 33, 1));
  }
}

TEST_P(ModelByType, EveryInstructionSetGivesTheSameBits) {
  RigOptions scalar;
  scalar.isa = Isa::kScalar;
  const auto truth = run(sizes(), scalar, 9, 9);
  for (const Isa isa : kAllIsas) {
    if (!detect_cpu().has(isa)) {
      continue;
    }
    RigOptions options;
    options.isa = isa;
    expect_same_bits(truth, run(sizes(), options, 9, 9));
    expect_same_bits(truth, run(sizes(), options, 9, 1));
  }
}

// Positions below 30 are a prompt's under --arithmetic fast. Which chunk, thread or set computes a
// row does not matter; float weights know no fast rows.
TEST_P(ModelByType, FastPromptsGiveTheSameBitsInEveryChunkThreadAndSet) {
  const auto exact = run(sizes(), {}, 45, 45);
  RigOptions fast;
  fast.n_fast = 30;
  fast.isa = Isa::kScalar;
  const auto truth = run(sizes(), fast, 45, 45);
  fast.isa = kAutomaticIsa;
  for (const int64_t chunk : {45, 1, 4, 7, 32}) {
    expect_same_bits(truth, run(sizes(), fast, 45, chunk));
  }
  fast.n_threads = 3;
  expect_same_bits(truth, run(sizes(), fast, 45, 32));
  const DType packed = quant::packed_type_of(GetParam(), false);
  EXPECT_EQ(truth == exact, packed == DType::kF32 || packed == DType::kBF16);
  fast.n_fast = 0;
  expect_same_bits(exact, run(sizes(), fast, 45, 32));
}

INSTANTIATE_TEST_SUITE_P(Types, ModelByType,
                         testing::Values(DType::kF32, DType::kF16, DType::kBF16, DType::kQ4_0,
                                         DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ8_0,
                                         DType::kQ2_K, DType::kQ3_K, DType::kQ4_K, DType::kQ5_K,
                                         DType::kQ6_K, DType::kIQ4_NL, DType::kIQ4_XS),
                         [](const auto& param) { return std::string(name_of(param.param)); });

TEST(Model, EveryFamilyIsTheSameInChunks) {
  for (const char* arch : {"llama", "qwen2", "qwen3", "gemma3"}) {
    TinySizes sizes;
    sizes.arch = arch;
    sizes.n_layers = 7;
    sizes.window = sizes.arch == "gemma3" ? 11 : 0;
    const auto whole = run(sizes, {}, 150, 150);
    expect_same_bits(whole, run(sizes, {}, 150, 13));
    expect_same_bits(whole, run(sizes, {}, 150, 1));
  }
}

TEST(Model, LongContextCrossesSpansWithTheSameBits) {
  TinySizes sizes;
  sizes.n_layers = 1;
  RigOptions options;
  options.limits = {.max_tokens = 700, .max_logits = 700};
  const auto whole = run(sizes, options, 700, 700);
  expect_same_bits(whole, run(sizes, options, 700, 1));
  options.n_threads = 2;
  expect_same_bits(whole, run(sizes, options, 700, 64));
}

TEST(Model, FlashIsNearEager) {
  for (const char* arch : {"llama", "gemma3"}) {
    TinySizes sizes;
    sizes.arch = arch;
    sizes.window = sizes.arch == "gemma3" ? 20 : 0;
    RigOptions options;
    options.as_f32 = true;
    options.page_type = PageType::kF32;
    const auto flash = run(sizes, options, 60, 60);
    options.limits.attention = ops::AttentionKind::kEager;
    const auto eager = run(sizes, options, 60, 60);
    float worst = 0;
    for (size_t i = 0; i < flash.size(); ++i) {
      worst = std::max(worst, std::abs(flash[i] - eager[i]));
    }
    EXPECT_LE(worst, 1e-4F) << arch;
    EXPECT_GT(worst, 0.0F) << "the two are different computations";
  }
}

TEST(Model, Int8PagesAreNearF32PagesInAnyChunks) {
  TinySizes sizes;
  RigOptions options;
  options.as_f32 = true;
  options.limits = {.max_tokens = 600, .max_logits = 600};
  options.page_type = PageType::kF32;
  const auto f32 = run(sizes, options, 600, 600);
  const auto squares_to_f32 = [&](const std::vector<float>& logits) {
    double sum = 0;
    for (size_t i = 0; i < f32.size(); ++i) {
      const double difference = static_cast<double>(logits[i]) - f32[i];
      sum += difference * difference;
    }
    return sum;
  };
  options.page_type = PageType::kBF16;
  const double bf16_squares = squares_to_f32(run(sizes, options, 600, 600));
  options.page_type = PageType::kInt8;
  const auto int8 = run(sizes, options, 600, 600);
  EXPECT_GT(squares_to_f32(int8), 0.0) << "the pages are rounded";
  // A code is a 254th of its vector's largest, a bf16 value has 8 bits of its own.
  EXPECT_LE(squares_to_f32(int8), 100.0 * bf16_squares);
  expect_same_bits(int8, run(sizes, options, 600, 1));
  options.n_threads = 2;
  expect_same_bits(int8, run(sizes, options, 600, 64));
}

TEST(Model, TheLastTokenChangesTheLastRowOnly) {
  TinySizes sizes;
  ModelRig rig(tiny_gguf(sizes).parse(), {});
  auto ids = random_ids(20, sizes.n_vocab, 3);
  const auto before = rig.logits(ids, 20);
  ids.back() = (ids.back() + 1) % sizes.n_vocab;
  const auto after = rig.logits(ids, 20);
  const size_t last_row = before.size() - static_cast<size_t>(sizes.n_vocab);
  for (size_t i = 0; i < last_row; ++i) {
    ASSERT_EQ(before[i], after[i]);
  }
  EXPECT_NE(before.back(), after.back());
}

// C47 (e): with window w, position p of layer n sees no further back than n * (w - 1).
TEST(Model, WindowReachesExactlyAsFarAsItShould) {
  TinySizes sizes;
  sizes.arch = "gemma3";
  sizes.n_layers = 2;
  sizes.window = 8;
  ModelRig rig(tiny_gguf(sizes).parse(), {});
  const auto ids = random_ids(51, sizes.n_vocab, 9);
  const auto truth = rig.logits(ids, 51);
  const size_t row = static_cast<size_t>(50 * sizes.n_vocab);
  const auto differs = [&](size_t position) {
    auto changed = ids;
    changed[position] = (changed[position] + 7) % sizes.n_vocab;
    const auto logits = rig.logits(changed, 51);
    return !std::equal(truth.begin() + static_cast<int64_t>(row), truth.end(),
                       logits.begin() + static_cast<int64_t>(row));
  };
  for (size_t position = 0; position <= 35; ++position) {
    EXPECT_FALSE(differs(position)) << position;
  }
  EXPECT_TRUE(differs(36));
}

TEST(Model, ObserverSeesTheSameBitsAndTheRightShapes) {
  TinySizes sizes;
  sizes.n_layers = 1;
  sizes.head_dim = 24;  // not hidden / n_heads
  ModelRig rig(tiny_gguf(sizes).parse(), {});
  const auto ids = random_ids(3, sizes.n_vocab, 2);
  const auto unseen = rig.logits(ids, 3);
  Recorder trace;
  rig.exec().set_observer(&trace);
  const auto seen = rig.logits(ids, 3);
  rig.exec().set_observer(nullptr);
  expect_same_bits(unseen, seen);
  const std::vector<std::string> expected = {
      "-1 embed [3, 64]",
      "0 attn_norm [3, 64]",
      "0 q [3, 96]",
      "0 k [3, 48]",
      "0 v [3, 48]",
      "0 q_rope [3, 4, 24]",
      "0 k_rope [3, 2, 24]",
      "0 attn_values [3, 4, 24]",
      "0 attn_packed [3, 96]",
      "0 attn_out [3, 64]",
      "0 attn_residual [3, 64]",
      "0 ffn_norm [3, 64]",
      "0 ffn_gate [3, 96]",
      "0 ffn_up [3, 96]",
      "0 ffn_hidden [3, 96]",
      "0 ffn_out [3, 64]",
      "0 ffn_residual [3, 64]",
      "-1 final_norm [3, 64]",
      "-1 logits [3, 160]",
  };
  EXPECT_EQ(trace.lines, expected);
  trace.lines.clear();
  rig.logits(ids, 3);
  EXPECT_TRUE(trace.lines.empty()) << "an unhooked observer must see nothing";
}

TEST(Model, BothWorkersTakePart) {
  TinySizes sizes;
  sizes.hidden = 512;
  sizes.ffn = 2048;
  RigOptions options;
  options.n_threads = 2;
  ModelRig rig(tiny_gguf(sizes).parse(), options);
  for (int i = 0; i < 20; ++i) {
    rig.logits(random_ids(64, sizes.n_vocab, 2), 64);
  }
  for (const uint64_t count : rig.threads().claim_counts()) {
    EXPECT_GT(count, 0U);
  }
}

}  // namespace
}  // namespace fathom::model
