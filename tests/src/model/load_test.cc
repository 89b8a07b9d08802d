// Loading: what is planned is what is packed, and every way in which a file can misfit is named.
#include "model/load.h"

#include <gtest/gtest.h>

#include <limits>

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
  EXPECT_FALSE(plan_load(*tiny_gguf(sizes).parse(), {.as_f32 = true}).rounds_f16);
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
  builder.remove("llama.feed_forward_length").set("llama.feed_forward_length", uint32_t{128});
  expect_error([&] { plan(builder); }, ErrorCode::kCorruptFile,
               {"blk.1.ffn_up.weight: found [96, 64], expected [128, 64]"});
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
  corrupt(with("llama.attention.key_length", uint32_t{4096}), "key_length");
  corrupt(with("llama.vocab_size", uint32_t{0}), "vocab_size");
  corrupt(with("llama.embedding_length", std::string("wide")), "llama.embedding_length");
}

TEST(Load, RefusesOtherArchitecturesByName) {
  TinySizes sizes;
  sizes.arch = "mamba9";
  expect_error([&] { plan(tiny_gguf(sizes)); }, ErrorCode::kUnsupported,
               {"architecture 'mamba9' is not supported yet", "llama"});
}

TEST(Load, RefusesExpertsByName) {
  test::GgufBuilder builder = tiny_gguf({});
  builder.set("llama.expert_count", uint32_t{8});
  expect_error([&] { plan(builder); }, ErrorCode::kUnsupported,
               {"mixtures of experts", "llama.expert_count"});
}

TEST(Load, RefusesOtherRopeScalingsByName) {
  test::GgufBuilder builder = tiny_gguf({});
  builder.set("llama.rope.scaling.type", std::string("yarn"));
  expect_error([&] { plan(builder); }, ErrorCode::kUnsupported, {"'yarn'"});
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
