// Loading: what is planned is what is packed, and every way in which a file can misfit is named.
#include "model/load.h"

#include <gtest/gtest.h>

#include <limits>

#include "src/model/parity_files.h"
#include "support/error_check.h"
#include "support/model_rig.h"

namespace fathom::model {
namespace {

using test::expect_error;
using test::tiny_gguf;
using test::TinySizes;

LoadPlan plan(const test::GgufBuilder& builder) {
  return plan_load(*builder.parse(), {});
}

TEST(Load, PlanCountsPackedBytes) {
  TinySizes sizes;
  sizes.n_layers = 1;
  const LoadPlan f32 = plan(tiny_gguf(sizes));
  // embedding + head 2*160*64, q o 2*64*64, k v 2*32*64, gate up down 3*96*64 values of 4 bytes,
  // norms 3*64.
  EXPECT_EQ(f32.weight_bytes,
            4 * (2 * 160 * 64 + 2 * 64 * 64 + 2 * 32 * 64 + 3 * 96 * 64 + 3 * 64));
  EXPECT_EQ(f32.matrix_values, 160 * 64 + 2 * 64 * 64 + 2 * 32 * 64 + 3 * 96 * 64);
  EXPECT_FALSE(f32.rounds_f16);
  sizes.weight_type = DType::kF16;
  EXPECT_TRUE(plan(tiny_gguf(sizes)).rounds_f16);
  LoadOptions as_f32;
  as_f32.as_f32 = true;
  EXPECT_FALSE(plan_load(*tiny_gguf(sizes).parse(), as_f32).rounds_f16);
}

// Of every kind of block: what the plan says is what the pool gives, and what the memory plan and
// the bench are told is no more than that.
TEST(Load, PlannedBytesArePackedBytes) {
  for (const char* name : test::kEveryBlock) {
    for (const bool as_f32 : {false, true}) {
      SCOPED_TRACE(name);
      const auto file = test::parity_file(name);
      LoadOptions options;
      options.as_f32 = as_f32;
      const LoadPlan plan = plan_load(*file, options);
      MemoryPool pool("weights", static_cast<size_t>(plan.weight_bytes));
      ThreadPool threads(2);
      const auto weights = load_weights(*file, plan, options, pool, threads, {});
      EXPECT_EQ(static_cast<int64_t>(pool.used_bytes()), plan.weight_bytes);
      EXPECT_GT(plan.token_bytes, 0);
      EXPECT_LE(plan.token_bytes, plan.weight_bytes);
      EXPECT_EQ(weights->layers.size(), static_cast<size_t>(plan.config.n_layers));
      EXPECT_EQ(weights->rope_divisors.size(), plan.config.ropes.size());
      EXPECT_EQ(weights->head.matrix.data == weights->embedding.data, plan.config.tied_head);
    }
  }
}

// Of four experts with two in use a token reads half of the experts' bytes.
TEST(Load, ATokenReadsTheExpertsItUses) {
  const auto file = test::parity_file("mixtral");
  const LoadPlan plan = plan_load(*file, {});
  const int64_t h = 32;
  const int64_t attention = 2 * h * h + 2 * 16 * h;
  const int64_t expert = 3 * 32 * h;
  EXPECT_EQ(plan.matrix_values, 64 * h + 2 * (attention + 2 * expert + 4 * h));
}

// GGUF keeps longrope's lists as tensors; they arrive in the config of the weights.
TEST(Load, RopeTensorsOfGguf) {
  const auto file = test::parity_file("phi3-longrope.gguf");
  const LoadPlan plan = plan_load(*file, {});
  EXPECT_TRUE(plan.config.ropes.front().long_factors.empty());
  MemoryPool pool("weights", static_cast<size_t>(plan.weight_bytes));
  ThreadPool threads(1);
  const auto weights = load_weights(*file, plan, {}, pool, threads, {});
  const std::vector<double>& factors = weights->config.ropes.front().long_factors;
  ASSERT_EQ(factors.size(), 4U);
  EXPECT_FLOAT_EQ(static_cast<float>(factors[3]), 4.3F);
  EXPECT_FLOAT_EQ(static_cast<float>(weights->config.ropes.front().short_factors[1]), 1.05F);
  const auto llama3 = test::parity_file("llama-llama3.gguf");
  const LoadPlan plan3 = plan_load(*llama3, {});
  MemoryPool pool3("weights", static_cast<size_t>(plan3.weight_bytes));
  const auto weights3 = load_weights(*llama3, plan3, {}, pool3, threads, {});
  EXPECT_EQ(weights3->rope_divisors.front().size(), 8U);
}

TEST(Load, ReportsAllMisfitsAtOnce) {
  TinySizes sizes;
  sizes.n_layers = 1;
  test::GgufBuilder builder = tiny_gguf(sizes);
  builder.remove("llama.block_count")
      .set("llama.block_count", uint32_t{2});  // the second layer is missing
  const int64_t shape[] = {4, 4};
  builder.add_tensor("blk.0.surprise.weight", shape, std::vector<float>(16));
  expect_error([&] { plan(builder); }, ErrorCode::kCorruptFile,
               {"blk.1.attn_q.weight: missing, expected [64, 64]", "blk.1.ffn_down.weight: missing",
                "blk.0.surprise.weight: [4, 4] is no part"});
}

TEST(Load, NamesAMisshapenTensor) {
  TinySizes sizes;
  test::GgufBuilder builder = tiny_gguf(sizes);
  builder.remove("llama.attention.head_count_kv").set("llama.attention.head_count_kv", uint32_t{1});
  expect_error([&] { plan(builder); }, ErrorCode::kCorruptFile,
               {"blk.1.attn_k.weight: found [32, 64], expected [16, 64]"});
}

TEST(Load, RefusesWhatNoModelHas) {
  const auto with = [](const char* key, auto value) {
    test::GgufBuilder builder = tiny_gguf({});
    builder.remove(key);
    builder.set(key, value);
    return builder;
  };
  const auto corrupt = [](const test::GgufBuilder& builder, std::string_view what) {
    expect_error([&] { plan(builder); }, ErrorCode::kCorruptFile, {what});
  };
  corrupt(with("llama.block_count", uint32_t{1} << 31), "llama.block_count");
  corrupt(with("llama.block_count", uint32_t{0}), "llama.block_count");
  corrupt(with("llama.attention.head_count", uint32_t{0}), "llama.attention.head_count");
  corrupt(with("llama.attention.head_count_kv", uint32_t{3}), "head_count_kv is 3");
  corrupt(with("llama.attention.head_count_kv", uint32_t{0}), "head_count_kv");
  corrupt(with("llama.rope.dimension_count", uint32_t{7}), "rope.dimension_count is 7");
  corrupt(with("llama.rope.dimension_count", uint32_t{18}), "rope.dimension_count is 18");
  corrupt(with("llama.rope.freq_base", std::numeric_limits<float>::quiet_NaN()), "rope base");
  corrupt(with("llama.rope.freq_base", -1.0F), "rope base");
  corrupt(with("llama.attention.layer_norm_rms_epsilon", 0.0F), "epsilon");
  corrupt(with("llama.attention.key_length", uint32_t{5000}), "key_length");
  corrupt(with("llama.attention.key_length", uint32_t{4096}), "the width of a cached key is 4096");
  corrupt(with("llama.vocab_size", uint32_t{0}), "vocab_size");
  corrupt(with("llama.embedding_length", std::string("wide")), "llama.embedding_length");
}

TEST(Load, RefusesOtherArchitecturesByName) {
  TinySizes sizes;
  sizes.arch = "mamba9";
  expect_error([&] { plan(tiny_gguf(sizes)); }, ErrorCode::kUnsupported,
               {"architecture 'mamba9' is not supported yet", "llama"});
}

TEST(Load, RefusesOtherRopeScalingsByName) {
  test::GgufBuilder builder = tiny_gguf({});
  builder.set("llama.rope.scaling.type", std::string("spiral"));
  expect_error([&] { plan(builder); }, ErrorCode::kUnsupported, {"'spiral'"});
}

TEST(Load, NamesTensorAndRowOfANaN) {
  TinySizes sizes;
  sizes.weight_type = DType::kQ8_0;
  sizes.n_layers = 1;
  const auto file = tiny_gguf(sizes).parse();
  const LoadPlan good = plan_load(*file, {});
  // Row 37 of ffn_down: its first block's scale becomes NaN.
  const FileTensor* tensor = file->tensors.find("blk.0.ffn_down.weight");
  ASSERT_NE(tensor, nullptr);
  auto* bytes =
      const_cast<std::byte*>(tensor->bytes.data()) + 37 * quant::row_bytes(DType::kQ8_0, sizes.ffn);
  bytes[0] = std::byte{0x00};
  bytes[1] = std::byte{0x7e};
  MemoryPool pool("weights", static_cast<size_t>(good.weight_bytes));
  ThreadPool threads(2);
  expect_error([&] { load_weights(*file, good, {}, pool, threads, {}); }, ErrorCode::kCorruptFile,
               {"blk.0.ffn_down.weight", "row 37"});
}

}  // namespace
}  // namespace fathom::model
