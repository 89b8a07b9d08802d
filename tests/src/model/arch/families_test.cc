// What each architecture reads from its tiny models in tests/parity: the fields that tell families
// apart. Values follow from the config.json files and the papers named in model/arch/*.cc.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "src/model/arch/configs.h"
#include "src/model/parity_files.h"

namespace fathom::model {
namespace {

using kernels::Activation;
using ops::NormKind;

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

}  // namespace
}  // namespace fathom::model
