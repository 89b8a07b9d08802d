// What each architecture reads from its tiny models in tests/parity: the fields that tell families
// apart. Values follow from the config.json files and the papers named in model/arch/*.cc.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "src/model/arch/configs.h"
#include "src/model/parity_files.h"

namespace fathom::model {
namespace {

using kernels::Activation;
using ops::NormKind;
using ops::RouterKind;

constexpr NormKind kLayerNorm = NormKind::kLayer;
constexpr int kOneNorm = 1;   // parallel branches behind one norm
constexpr int kTwoNorms = 2;  // each with its own

// The usual: RMS norms before serial branches, gated SiLU, rotation everywhere, no windows. A list
// that is empty stands for zeros.
struct Family {
  const char* model;
  NormKind norm = NormKind::kRms;
  NormPlacement placement = NormPlacement::kPre;
  int parallel = 0;
  bool gated = true;
  Activation activation = Activation::kSilu;
  QkNorm qk_norm = QkNorm::kNone;
  std::vector<int64_t> windows = {};
  std::vector<int> ropes = {};    // per layer; -1: none
  std::vector<int> experts = {};  // per layer; 0: dense
};

const Family kFamilies[] = {
    {.model = "bloom",
     .norm = kLayerNorm,
     .gated = false,
     .activation = Activation::kGeluTanh,
     .ropes = {-1, -1}},
    {.model = "cohere", .norm = kLayerNorm, .parallel = kOneNorm},
    {.model = "cohere-qknorm",
     .norm = kLayerNorm,
     .parallel = kOneNorm,
     .qk_norm = QkNorm::kEachHead},
    {.model = "cohere2",
     .norm = kLayerNorm,
     .parallel = kOneNorm,
     .windows = {7, 7, 7, 0},
     .ropes = {0, 0, 0, -1}},
    {.model = "deepseek_v2", .experts = {0, 4}},
    {.model = "deepseek_v3", .experts = {0, 8}},
    {.model = "ernie4_5"},
    {.model = "exaone4",
     .placement = NormPlacement::kPost,
     .qk_norm = QkNorm::kHead,
     .windows = {7, 7, 7, 0},
     .ropes = {0, 0, 0, -1}},
    {.model = "exaone4-full", .placement = NormPlacement::kPost, .qk_norm = QkNorm::kHead},
    {.model = "falcon",
     .norm = kLayerNorm,
     .parallel = kOneNorm,
     .gated = false,
     .activation = Activation::kGeluErf},
    {.model = "falcon-new",
     .norm = kLayerNorm,
     .parallel = kTwoNorms,
     .gated = false,
     .activation = Activation::kGeluErf},
    {.model = "falcon-alibi",
     .norm = kLayerNorm,
     .gated = false,
     .activation = Activation::kGeluErf,
     .ropes = {-1, -1}},
    {.model = "gemma", .activation = Activation::kGeluTanh},
    {.model = "gemma2",
     .placement = NormPlacement::kSandwich,
     .activation = Activation::kGeluTanh,
     .windows = {7, 0, 7}},
    {.model = "gemma3_text",
     .placement = NormPlacement::kSandwich,
     .activation = Activation::kGeluTanh,
     .qk_norm = QkNorm::kHead,
     .windows = {6, 6, 6, 6, 6, 0},
     .ropes = {1, 1, 1, 1, 1, 0}},
    {.model = "gemma3_text-v5",
     .placement = NormPlacement::kSandwich,
     .activation = Activation::kGeluTanh,
     .qk_norm = QkNorm::kHead,
     .windows = {9, 0, 9},
     .ropes = {1, 0, 1}},
    {.model = "glm"},
    {.model = "glm4", .placement = NormPlacement::kSandwich},
    {.model = "glm4_moe", .qk_norm = QkNorm::kHead, .experts = {0, 4}},
    {.model = "glm4_moe-plain", .experts = {0, 4}},
    {.model = "gpt2",
     .norm = kLayerNorm,
     .gated = false,
     .activation = Activation::kGeluTanh,
     .ropes = {-1, -1}},
    {.model = "gpt_bigcode",
     .norm = kLayerNorm,
     .gated = false,
     .activation = Activation::kGeluTanh,
     .ropes = {-1, -1}},
    {.model = "gpt_neo",
     .norm = kLayerNorm,
     .gated = false,
     .activation = Activation::kGeluTanh,
     .windows = {0, 7, 0},
     .ropes = {-1, -1, -1}},
    {.model = "gpt_neox",
     .norm = kLayerNorm,
     .parallel = kTwoNorms,
     .gated = false,
     .activation = Activation::kGeluErf},
    {.model = "gpt_neox-serial",
     .norm = kLayerNorm,
     .gated = false,
     .activation = Activation::kGeluErf},
    {.model = "gpt_oss", .windows = {7, 0}, .experts = {4, 4}},
    {.model = "gptj",
     .norm = kLayerNorm,
     .parallel = kOneNorm,
     .gated = false,
     .activation = Activation::kGeluTanh},
    {.model = "granite"},
    {.model = "granitemoe", .experts = {4, 4}},
    {.model = "hunyuan_v1_dense", .qk_norm = QkNorm::kHead},
    {.model = "llama"},
    {.model = "llama-headdim-gelu", .activation = Activation::kGeluErf},
    {.model = "minicpm3"},
    {.model = "mistral", .windows = {7, 7}},
    {.model = "mistral-nowindow"},
    {.model = "mixtral", .experts = {4, 4}},
    {.model = "mixtral-window", .windows = {7}, .experts = {4}},
    {.model = "mpt",
     .norm = kLayerNorm,
     .gated = false,
     .activation = Activation::kGeluErf,
     .ropes = {-1, -1}},
    {.model = "nemotron", .norm = kLayerNorm, .gated = false, .activation = Activation::kRelu2},
    {.model = "olmo", .norm = kLayerNorm},
    {.model = "olmo2", .placement = NormPlacement::kPost, .qk_norm = QkNorm::kWide},
    {.model = "olmo3",
     .placement = NormPlacement::kPost,
     .qk_norm = QkNorm::kWide,
     .windows = {7, 7, 7, 0},
     .ropes = {1, 1, 1, 0}},
    {.model = "olmoe", .qk_norm = QkNorm::kWide, .experts = {4, 4}},
    {.model = "opt",
     .norm = kLayerNorm,
     .gated = false,
     .activation = Activation::kRelu,
     .ropes = {-1, -1}},
    {.model = "opt-350m",
     .norm = kLayerNorm,
     .placement = NormPlacement::kAfterSum,
     .gated = false,
     .activation = Activation::kRelu,
     .ropes = {-1, -1}},
    {.model = "phi",
     .norm = kLayerNorm,
     .parallel = kOneNorm,
     .gated = false,
     .activation = Activation::kGeluTanh},
    {.model = "phi-qknorm",
     .norm = kLayerNorm,
     .parallel = kOneNorm,
     .gated = false,
     .activation = Activation::kGeluTanh,
     .qk_norm = QkNorm::kHead},
    {.model = "phi3"},
    {.model = "phi3-window", .windows = {7}},
    {.model = "phimoe", .norm = kLayerNorm, .experts = {4, 4}},
    {.model = "qwen2"},
    {.model = "qwen2-window", .windows = {0, 0, 8}},
    {.model = "qwen2_moe", .experts = {4, 4}},
    {.model = "qwen2_moe-dense", .experts = {4, 0}},
    {.model = "qwen3", .qk_norm = QkNorm::kHead},
    {.model = "qwen3_moe", .qk_norm = QkNorm::kHead, .experts = {5, 5}},
    {.model = "qwen3_moe-sparse", .qk_norm = QkNorm::kHead, .experts = {0, 4}},
    {.model = "seed_oss"},
    {.model = "smollm3", .ropes = {0, 0, 0, -1}},
    {.model = "smollm3-odd", .ropes = {-1, 0, 0}},
    {.model = "stablelm", .norm = kLayerNorm},
    {.model = "stablelm-qknorm",
     .norm = kLayerNorm,
     .parallel = kOneNorm,
     .qk_norm = QkNorm::kEachHead},
    {.model = "starcoder2",
     .norm = kLayerNorm,
     .gated = false,
     .activation = Activation::kGeluTanh},
    {.model = "starcoder2-window",
     .norm = kLayerNorm,
     .gated = false,
     .activation = Activation::kGeluTanh,
     .windows = {7}},
};

ModelConfig config_of(const std::string& model) {
  return test::read_config(*test::parity_file(model));
}

template <class T>
T entry(const std::vector<T>& list, size_t i) {
  return list.empty() ? T{} : list.at(i);
}

int n_experts(const LayerOptions& layer) {
  return layer.experts ? layer.experts->n_experts : 0;
}

TEST(Families, FieldsOfEveryLayer) {
  for (const Family& family : kFamilies) {
    SCOPED_TRACE(family.model);
    const ModelConfig config = config_of(family.model);
    check(config, family.model);
    EXPECT_EQ(config.norm_kind, family.norm);
    ASSERT_EQ(config.layers.size(), static_cast<size_t>(config.n_layers));
    for (size_t i = 0; i < config.layers.size(); ++i) {
      const LayerOptions& layer = config.layers[i];
      EXPECT_EQ(layer.norm_placement, family.placement);
      EXPECT_EQ(layer.parallel, family.parallel > 0);
      EXPECT_EQ(layer.own_ffn_norm, family.parallel != kOneNorm);
      EXPECT_EQ(layer.gated, family.gated);
      EXPECT_EQ(layer.hidden.activation, family.activation);
      EXPECT_EQ(layer.qk_norm, family.qk_norm);
      EXPECT_EQ(layer.window, entry(family.windows, i)) << "layer " << i;
      EXPECT_EQ(layer.rope, entry(family.ropes, i)) << "layer " << i;
      EXPECT_EQ(n_experts(layer), entry(family.experts, i)) << "layer " << i;
    }
  }
}

TEST(Families, EveryArchitectureHasARow) {
  std::set<const ArchSpec*> seen;
  for (const Family& family : kFamilies) {
    seen.insert(&find_arch(test::parity_file(family.model)->metadata));
  }
  EXPECT_EQ(seen.size(), all_archs().size());
}

// GGUF says the same by its keys, its tensors and the released values; what it loses is told.
TEST(Families, GgufGivesTheSameFields) {
  int n_compared = 0;
  for (const Family& family : kFamilies) {
    const std::string name = std::string(family.model) + ".gguf";
    if (!std::filesystem::exists(test::parity_path(name))) {
      continue;
    }
    ++n_compared;
    SCOPED_TRACE(name);
    const ModelConfig config = config_of(name);
    EXPECT_EQ(config.norm_kind, family.norm);
    for (size_t i = 0; i < config.layers.size(); ++i) {
      const LayerOptions& layer = config.layers[i];
      EXPECT_EQ(layer.norm_placement, family.placement);
      EXPECT_EQ(layer.parallel, family.parallel > 0);
      EXPECT_EQ(layer.own_ffn_norm, family.parallel != kOneNorm);
      EXPECT_EQ(layer.gated, family.gated);
      EXPECT_EQ(layer.hidden.activation, family.activation);
      EXPECT_EQ(layer.qk_norm, family.qk_norm);
      EXPECT_EQ(layer.window, entry(family.windows, i)) << "layer " << i;
      EXPECT_EQ(layer.rope, entry(family.ropes, i)) << "layer " << i;
      EXPECT_EQ(n_experts(layer), entry(family.experts, i)) << "layer " << i;
    }
  }
  EXPECT_GE(n_compared, 40);
}

TEST(Families, Multipliers) {
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

TEST(Families, CapsAndClamps) {
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

TEST(Families, NormsWithAndWithoutNumbers) {
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
  EXPECT_EQ(config_of("stablelm-qknorm").layers[0].qk_norm_kind, kLayerNorm);
  EXPECT_TRUE(config_of("phi-qknorm").layers[0].qk_norm_bias);
  EXPECT_TRUE(config_of("hunyuan_v1_dense").layers[0].qk_norm_after_rope);
  EXPECT_FALSE(config_of("qwen3").layers[0].qk_norm_after_rope);
}

// q k v, output, feed-forward, head.
TEST(Families, Biases) {
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

TEST(Families, PositionsAndProjections) {
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

TEST(Families, SlopesOfAlibi) {
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

TEST(Families, KeyValueHeads) {
  EXPECT_EQ(config_of("falcon").layers[0].n_kv_heads, 1);
  EXPECT_EQ(config_of("falcon-new").layers[0].n_kv_heads, 2);
  EXPECT_EQ(config_of("falcon-alibi").layers[0].n_kv_heads, 4);
  EXPECT_EQ(config_of("gpt_bigcode").layers[0].n_kv_heads, 1);
  EXPECT_EQ(config_of("gpt_bigcode-mha").layers[0].n_kv_heads, 4);
  EXPECT_EQ(config_of("gpt_bigcode.gguf").layers[0].n_kv_heads, 1);
}

// Which elements are rotated: halves or pairs, and how many.
TEST(Families, Rotations) {
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

TEST(Families, LatentSizes) {
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

TEST(Families, Routers) {
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
