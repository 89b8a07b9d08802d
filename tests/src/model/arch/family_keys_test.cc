// Numbers that the tiny models of tests/parity state or imply: multipliers, caps, biases,
// positions, slopes, rotations, latents, routers. Read next: families_test.cc.
#include "model/arch/family_keys.h"

#include <gtest/gtest.h>

#include <cmath>

#include "src/model/arch/configs.h"
#include "src/model/parity_files.h"

namespace fathom::model {
namespace {

using ops::RouterKind;

ModelConfig config_of(const std::string& model) {
  return test::read_config(*test::parity_file(model));
}

TEST(FamilyKeys, Multipliers) {
  const ModelConfig granite = config_of("granite");
  EXPECT_EQ(granite.embed_scale, 2.5);
  EXPECT_EQ(granite.residual_scale, 0.7);
  EXPECT_EQ(granite.logit_scale, 1.0 / 3.0);
  EXPECT_EQ(granite.layers[0].score_scale, 0.23);
  const ModelConfig minicpm = config_of("minicpm3-odd");
  EXPECT_EQ(minicpm.embed_scale, 3.0);
  EXPECT_EQ(minicpm.residual_scale, 1.1);  // one layer
  EXPECT_EQ(minicpm.hidden_scale, 0.5);    // 16 / 32
  EXPECT_DOUBLE_EQ(config_of("minicpm3").residual_scale, 1.4 / std::sqrt(2.0));
  EXPECT_EQ(config_of("cohere").logit_scale, 0.3);
  EXPECT_EQ(config_of("gemma").embed_scale, std::sqrt(32.0));
  EXPECT_EQ(config_of("gpt_neo").layers[0].score_scale, 1.0);
  EXPECT_DOUBLE_EQ(config_of("gemma2-scale").layers[0].score_scale, 1.0 / std::sqrt(27.0));
  for (const char* plain : {"llama", "qwen3", "olmo2"}) {
    const ModelConfig config = config_of(plain);
    for (const double scale :
         {config.embed_scale, config.residual_scale, config.hidden_scale, config.logit_scale}) {
      EXPECT_EQ(scale, 1.0) << plain;
    }
  }
}

TEST(FamilyKeys, CapsAndClamps) {
  const ModelConfig gemma = config_of("gemma2");
  EXPECT_EQ(gemma.logit_soft_cap, 5.0);
  EXPECT_EQ(gemma.layers[2].score_soft_cap, 2.5);
  EXPECT_EQ(config_of("gemma3_text").logit_soft_cap, 0.0);
  EXPECT_EQ(config_of("olmo").clip_qkv, 1.2);
  EXPECT_EQ(config_of("olmo-noclip-tied").clip_qkv, 0.0);
  EXPECT_EQ(config_of("mpt").clip_qkv, 1.3);
  EXPECT_EQ(config_of("gpt_oss").layers[0].hidden.clamp, 7.0F);
  EXPECT_EQ(config_of("gpt_oss-limit").layers[0].hidden.clamp, 1.6F);
  EXPECT_TRUE(config_of("gpt_oss").layers[0].sinks);
}

TEST(FamilyKeys, NormsWithAndWithoutNumbers) {
  EXPECT_TRUE(config_of("gemma").norm_adds_one);
  EXPECT_FALSE(config_of("gemma.gguf").norm_adds_one);  // stored as 1 + w
  EXPECT_TRUE(config_of("nemotron").norm_adds_one);
  EXPECT_FALSE(config_of("llama").norm_adds_one);
  EXPECT_FALSE(config_of("olmo").norm_weight);
  EXPECT_FALSE(config_of("cohere").norm_bias);
  EXPECT_TRUE(config_of("gpt2").norm_bias);
  EXPECT_TRUE(config_of("bloom").embed_norm);
  EXPECT_FALSE(config_of("mpt").embed_norm);
  EXPECT_FALSE(config_of("opt-350m").last_norm);
  EXPECT_TRUE(config_of("opt").last_norm);
  EXPECT_EQ(config_of("llama").norm_eps, 0.003);
  EXPECT_EQ(config_of("opt").norm_eps, 1e-5);  // the class knows no other
  EXPECT_EQ(config_of("stablelm-qknorm").layers[0].qk_norm_kind, ops::NormKind::kLayer);
  EXPECT_TRUE(config_of("phi-qknorm").layers[0].qk_norm_bias);
  EXPECT_TRUE(config_of("hunyuan_v1_dense").layers[0].qk_norm_after_rope);
  EXPECT_FALSE(config_of("qwen3").layers[0].qk_norm_after_rope);
}

// q k v, output, feed-forward, head.
TEST(FamilyKeys, Biases) {
  const auto biases = [](const char* model) {
    const ModelConfig config = config_of(model);
    const LayerOptions& layer = config.layers.front();
    return std::vector<bool>{layer.qkv_bias, layer.output_bias, layer.ffn_bias, config.head_bias};
  };
  using Bits = std::vector<bool>;
  EXPECT_EQ(biases("llama"), (Bits{false, false, false, false}));
  EXPECT_EQ(biases("llama-mqa-bias"), (Bits{true, true, true, false}));
  EXPECT_EQ(biases("qwen2"), (Bits{true, false, false, false}));
  EXPECT_EQ(biases("glm4"), (Bits{true, false, false, false}));
  EXPECT_EQ(biases("seed_oss"), (Bits{true, false, false, false}));
  EXPECT_EQ(biases("seed_oss-outbias"), (Bits{true, true, false, false}));
  EXPECT_EQ(biases("gpt_neo"), (Bits{false, true, true, false}));
  EXPECT_EQ(biases("gptj"), (Bits{false, false, true, true}));
  EXPECT_EQ(biases("phi"), (Bits{true, true, true, true}));
  EXPECT_EQ(biases("phimoe"), (Bits{true, true, false, true}));
  EXPECT_EQ(biases("stablelm"), (Bits{true, false, false, false}));
  EXPECT_EQ(biases("gpt_neox-serial"), (Bits{false, false, true, false}));
  EXPECT_EQ(biases("starcoder2-window"), (Bits{false, false, false, false}));
  EXPECT_EQ(biases("falcon-alibi"), (Bits{true, true, true, false}));
}

TEST(FamilyKeys, PositionsAndProjections) {
  const ModelConfig gpt2 = config_of("gpt2");
  EXPECT_EQ(gpt2.n_positions, 64);
  EXPECT_EQ(gpt2.position_offset, 0);
  const ModelConfig opt = config_of("opt-350m");
  EXPECT_EQ(opt.n_positions, 64);
  EXPECT_EQ(opt.position_offset, 2);
  EXPECT_EQ(opt.embed_width(), 64);
  EXPECT_EQ(config_of("opt").embed_width(), 32);
  EXPECT_EQ(config_of("llama").n_positions, 0);
}

TEST(FamilyKeys, SlopesOfAlibi) {
  EXPECT_EQ(config_of("bloom").alibi_slopes, alibi_slopes(4));
  EXPECT_EQ(config_of("bloom-heads").alibi_slopes, alibi_slopes(6));
  std::vector<float> divided = alibi_slopes(4);  // score and bias are divided together
  for (float& slope : divided) {
    slope *= static_cast<float>(1.0 / std::sqrt(8.0));
  }
  EXPECT_EQ(config_of("falcon-alibi").alibi_slopes, divided);
  // MPT: 2^(-max k / 8) for the next power of two, every second one first.
  test::MadeFile file = test::hf_config("MPTForCausalLM");
  file.set("num_attention_heads", int64_t{6}).set("num_key_value_heads", int64_t{6});
  file.set("attn_config.alibi_bias_max", int64_t{6});
  const std::vector<float> mpt = test::read_config(file).alibi_slopes;
  const int order[] = {2, 4, 6, 8, 1, 3};
  ASSERT_EQ(mpt.size(), 6U);
  for (size_t i = 0; i < mpt.size(); ++i) {
    EXPECT_FLOAT_EQ(mpt[i], std::exp2(-0.75F * static_cast<float>(order[i])));
  }
  EXPECT_EQ(config_of("mpt").alibi_slopes, alibi_slopes(4));
  EXPECT_TRUE(config_of("llama").alibi_slopes.empty());
}

TEST(FamilyKeys, KeyValueHeads) {
  EXPECT_EQ(config_of("falcon").layers[0].n_kv_heads, 1);
  EXPECT_EQ(config_of("falcon-new").layers[0].n_kv_heads, 2);
  EXPECT_EQ(config_of("falcon-alibi").layers[0].n_kv_heads, 4);
  EXPECT_EQ(config_of("gpt_bigcode").layers[0].n_kv_heads, 1);
  EXPECT_EQ(config_of("gpt_bigcode-mha").layers[0].n_kv_heads, 4);
  EXPECT_EQ(config_of("gpt_bigcode.gguf").layers[0].n_kv_heads, 1);
}

// Which elements are rotated: halves or pairs, and how many.
TEST(FamilyKeys, Rotations) {
  using kernels::RopeStyle;
  const auto rope = [](const char* model) { return config_of(model).ropes.front(); };
  for (const char* model : {"cohere", "deepseek_v3", "ernie4_5", "glm", "gptj", "llama.gguf"}) {
    EXPECT_EQ(rope(model).style, RopeStyle::kPairs) << model;
  }
  for (const char* model : {"llama", "gpt_neox", "qwen3.gguf", "glm4_moe", "deepseek_v3-plain"}) {
    EXPECT_EQ(rope(model).style, RopeStyle::kHalves) << model;
  }
  EXPECT_EQ(rope("glm").rotary_dim, 4);
  EXPECT_EQ(rope("gptj").rotary_dim, 4);
  EXPECT_EQ(rope("gpt_neox-serial").rotary_dim, 2);
  EXPECT_EQ(rope("deepseek_v3").rotary_dim, 8);
  EXPECT_EQ(rope("phi3-longrope-partial").rotary_dim, 6);
  EXPECT_EQ(rope("llama-llama3").scaling, RopeScaling::kLlama3);
  EXPECT_FALSE(rope("gpt_oss").truncate);
  EXPECT_TRUE(rope("llama-yarn").truncate);
  const ModelConfig olmo3 = config_of("olmo3");  // only the full layers are scaled
  EXPECT_EQ(olmo3.ropes[0].scaling, RopeScaling::kYarn);
  EXPECT_EQ(olmo3.ropes[1].scaling, RopeScaling::kNone);
}

TEST(FamilyKeys, LatentSizes) {
  const LayerOptions v2 = config_of("deepseek_v2").layers[0];
  ASSERT_TRUE(v2.latent);
  EXPECT_EQ(v2.latent->q_rank, 0);
  EXPECT_EQ(v2.latent->kv_rank, 32);
  EXPECT_EQ(v2.latent->nope_dim, 8);
  EXPECT_EQ(v2.latent->rope_dim, 8);
  EXPECT_EQ(v2.latent->value_dim, 12);
  EXPECT_EQ(v2.page_heads(), 1);
  EXPECT_EQ(v2.page_key_dim(), 40);
  EXPECT_EQ(v2.page_value_dim(), 32);
  EXPECT_EQ(config_of("deepseek_v3").layers[0].latent->q_rank, 32);
  // 16^-0.5, stretched twice by 0.1 ln 4 + 1.
  EXPECT_NEAR(config_of("deepseek_v3").layers[1].score_scale, 0.25 * 1.13862944 * 1.13862944, 1e-8);
  EXPECT_EQ(config_of("deepseek_v3-plain").layers[1].score_scale, 0.25);
}

TEST(FamilyKeys, Routers) {
  const auto experts = [](const char* model) { return *config_of(model).layers.back().experts; };
  EXPECT_EQ(experts("mixtral").router.kind, RouterKind::kSoftmax);
  EXPECT_TRUE(experts("mixtral").router.renormalize);
  EXPECT_FALSE(experts("qwen2_moe").router.renormalize);
  EXPECT_TRUE(experts("qwen2_moe").shared_gate);
  EXPECT_EQ(experts("qwen2_moe").shared_ffn_size, 32);
  EXPECT_TRUE(experts("qwen3_moe").router.renormalize);
  EXPECT_FALSE(experts("olmoe").router.renormalize);
  EXPECT_TRUE(experts("olmoe-clip-norm").router.renormalize);
  EXPECT_EQ(experts("granitemoe").router.kind, RouterKind::kTopKSoftmax);
  EXPECT_EQ(experts("gpt_oss").router.kind, RouterKind::kTopKSoftmax);
  EXPECT_TRUE(experts("gpt_oss").bias);
  EXPECT_TRUE(experts("gpt_oss").router_bias);
  EXPECT_EQ(experts("phimoe").router.kind, RouterKind::kSparseMixer);
  EXPECT_EQ(experts("phimoe").router.jitter, 0.01F);
  const ExpertOptions v3 = experts("deepseek_v3");
  EXPECT_EQ(v3.router.kind, RouterKind::kSigmoid);
  EXPECT_TRUE(v3.correction_bias);
  EXPECT_EQ(v3.router.n_groups, 4);
  EXPECT_EQ(v3.router.groups_used, 2);
  EXPECT_EQ(v3.router.group_top, 2);
  EXPECT_EQ(v3.router.scale, 1.9F);
  EXPECT_EQ(v3.shared_ffn_size, 32);
  EXPECT_FALSE(v3.shared_gate);
  const ExpertOptions v2 = experts("deepseek_v2-group");
  EXPECT_EQ(v2.router.kind, RouterKind::kSoftmax);
  EXPECT_EQ(v2.router.n_groups, 4);
  EXPECT_EQ(v2.router.group_top, 1);
  EXPECT_EQ(experts("deepseek_v2").router.n_groups, 1);
  EXPECT_EQ(experts("deepseek_v2").shared_ffn_size, 64);  // two of them
  EXPECT_EQ(experts("glm4_moe").router.kind, RouterKind::kSigmoid);
}

}  // namespace
}  // namespace fathom::model
