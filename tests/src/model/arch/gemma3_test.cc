// Gemma 3: five windowed layers to one full one, two ropes, sandwich norms, the released defaults.
#include <gtest/gtest.h>

#include <cmath>

#include "src/model/arch/configs.h"

namespace fathom::model {
namespace {

using test::gguf_config;
using test::hf_config;
using test::read_config;
using test::windows;

constexpr char kClass[] = "Gemma3ForCausalLM";

// The figures of the released 270M: window 512, bases 1e6 and 1e4, query scale 256^-0.5.
TEST(ArchGemma3, FromConfigJson) {
  auto md = hf_config(kClass);
  md.set("num_hidden_layers", int64_t{7});
  md.set("sliding_window", int64_t{512});
  md.set("query_pre_attn_scalar", int64_t{256});
  md.set("rope_theta", 1e6);
  md.set("rope_local_base_freq", 10000.0);
  const ModelConfig config = read_config(md);
  EXPECT_EQ(windows(config), (std::vector<int64_t>{512, 512, 512, 512, 512, 0, 512}));
  ASSERT_EQ(config.ropes.size(), 2U);
  EXPECT_EQ(config.ropes[0].theta, 1e6);
  EXPECT_EQ(config.ropes[1].theta, 10000.0);
  EXPECT_EQ(config.layers[4].rope, 1);
  EXPECT_EQ(config.layers[5].rope, 0);
  const LayerOptions& layer = config.layers[0];
  EXPECT_EQ(layer.score_scale, 0.0625);
  EXPECT_EQ(layer.hidden.activation, kernels::Activation::kGeluTanh);
  EXPECT_EQ(layer.norm_placement, NormPlacement::kSandwich);
  EXPECT_EQ(layer.qk_norm, QkNorm::kHead);
  EXPECT_TRUE(config.norm_adds_one);
  EXPECT_TRUE(config.tied_head);
  EXPECT_EQ(config.embed_scale, 8.0);  // sqrt(64)
}

// The scaling of the full layers' rope is not that of the windowed ones.
TEST(ArchGemma3, ScalesTheFullLayersOnly) {
  auto md = hf_config(kClass);
  md.set("rope_parameters.full_attention.rope_theta", 1e6);
  md.set("rope_parameters.full_attention.rope_type", std::string("linear"));
  md.set("rope_parameters.full_attention.factor", 8.0);
  md.set("rope_parameters.sliding_attention.rope_theta", 20000.0);
  md.set("rope_parameters.sliding_attention.rope_type", std::string("default"));
  const ModelConfig config = read_config(md);
  EXPECT_EQ(config.ropes[0].scaling, RopeScaling::kLinear);
  EXPECT_EQ(config.ropes[0].factor, 8.0);
  EXPECT_EQ(config.ropes[1].scaling, RopeScaling::kNone);
  EXPECT_EQ(config.ropes[1].theta, 20000.0);
}

TEST(ArchGemma3, GgufStoresOnePlusWAndLeavesOutTheRest) {
  auto md = gguf_config("gemma3");
  md.set("gemma3.block_count", uint64_t{7});
  md.set("gemma3.attention.sliding_window", uint64_t{512});
  const ModelConfig config = read_config(md);
  EXPECT_FALSE(config.norm_adds_one);
  EXPECT_EQ(windows(config), (std::vector<int64_t>{512, 512, 512, 512, 512, 0, 512}));
  EXPECT_EQ(config.ropes[0].theta, 1e6);
  EXPECT_EQ(config.ropes[1].theta, 10000.0);
  EXPECT_EQ(config.layers[0].score_scale, 0.25);  // head_dim^-0.5
}

// 27B alone scales queries by (hidden / heads)^-0.5; it is known by its 62 layers.
TEST(ArchGemma3, QueryScaleOf27B) {
  auto md = gguf_config("gemma3");
  md.set("gemma3.block_count", uint64_t{62});
  md.set("gemma3.embedding_length", uint64_t{5376});
  md.set("gemma3.attention.head_count", uint64_t{32});
  md.set("gemma3.attention.key_length", uint64_t{128});
  EXPECT_DOUBLE_EQ(read_config(md).layers[61].score_scale, 1.0 / std::sqrt(168.0));
}

}  // namespace
}  // namespace fathom::model
