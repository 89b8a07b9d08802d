// Llama: the pairing of GGUF's permuted rows, Llama 3's rope, optional biases.
#include <gtest/gtest.h>

#include "src/model/arch/configs.h"

namespace fathom::model {
namespace {

using test::gguf_config;
using test::hf_config;
using test::read_config;

constexpr char kClass[] = "LlamaForCausalLM";

TEST(ArchLlama, GgufRowsAreInPairs) {
  EXPECT_EQ(read_config(gguf_config("llama")).ropes[0].style, kernels::RopeStyle::kPairs);
  EXPECT_EQ(read_config(hf_config(kClass)).ropes[0].style, kernels::RopeStyle::kHalves);
}

// The figures of the released Llama-3.2-1B.
TEST(ArchLlama, Llama3Rope) {
  auto md = hf_config(kClass);
  md.set("rope_theta", 500000.0);
  md.set("rope_scaling.rope_type", std::string("llama3"));
  md.set("rope_scaling.factor", 32.0);
  md.set("rope_scaling.low_freq_factor", 1.0);
  md.set("rope_scaling.high_freq_factor", 4.0);
  md.set("rope_scaling.original_max_position_embeddings", int64_t{8192});
  md.set("tie_word_embeddings", true);
  const ModelConfig config = read_config(md);
  const RopeOptions& rope = config.ropes[0];
  EXPECT_EQ(rope.scaling, RopeScaling::kLlama3);
  EXPECT_EQ(rope.theta, 500000.0);
  EXPECT_EQ(rope.factor, 32.0);
  EXPECT_EQ(rope.low_freq_factor, 1.0);
  EXPECT_EQ(rope.high_freq_factor, 4.0);
  EXPECT_EQ(rope.original_context, 8192.0);
  EXPECT_TRUE(config.tied_head);
}

TEST(ArchLlama, BiasesOnlyWhereAsked) {
  auto md = hf_config(kClass);
  EXPECT_FALSE(read_config(md).layers[0].qkv_bias);
  EXPECT_FALSE(read_config(md).layers[0].ffn_bias);
  md.set("attention_bias", true);
  const LayerOptions attention = read_config(md).layers[3];
  EXPECT_TRUE(attention.qkv_bias);
  EXPECT_TRUE(attention.output_bias);
  EXPECT_FALSE(attention.ffn_bias);
  md.set("mlp_bias", true);
  EXPECT_TRUE(read_config(md).layers[3].ffn_bias);
}

}  // namespace
}  // namespace fathom::model
