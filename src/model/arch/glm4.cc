// GLM-4-0414: GLM with norms behind the branches besides those before. Source: the released models,
// 2025.
#include "model/arch/registry.h"
#include "model/arch/rope_keys.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"Glm4ForCausalLM"};

constexpr TensorRule kRules[] = {
    {Part::kAttnPostNorm, "blk.{i}.post_attention_norm.weight",
     "model.layers.{i}.post_self_attn_layernorm.weight"},
    {Part::kFfnPostNorm, "blk.{i}.post_ffw_norm.weight",
     "model.layers.{i}.post_mlp_layernorm.weight"},
    {Part::kGate,
     {"blk.{i}.ffn_up.weight", Layout::kGateUpBlocks},
     {"model.layers.{i}.mlp.gate_up_proj.weight", Layout::kGateUpBlocks},
     2},
};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  set_rope_pairs(config);
  set_norm_placement(config, NormPlacement::kSandwich);
  set_biases(config, r.flag({"attention_bias"}, false), false, false);
  return config;
}

}  // namespace

extern const ArchSpec kGlm4;
const ArchSpec kGlm4 = {"glm4", kNames, read_config, kRules};

}  // namespace fathom::model
