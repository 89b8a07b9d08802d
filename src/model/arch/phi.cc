// Phi-1, 1.5 and 2: one layer norm for two parallel branches, biases everywhere (the head's too),
// ungated feed-forward, rotation of a part of each head. Source: arXiv 2309.05463.
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"PhiForCausalLM"};

constexpr TensorRule kRules[] = {
    {Part::kLastNorm, "output_norm.weight", "model.final_layernorm.weight"},
    {Part::kOutput, "blk.{i}.attn_output.weight", "model.layers.{i}.self_attn.dense.weight"},
    {Part::kQNorm, "", "model.layers.{i}.self_attn.q_layernorm.weight"},
    {Part::kKNorm, "", "model.layers.{i}.self_attn.k_layernorm.weight"},
    {Part::kUp, "blk.{i}.ffn_up.weight", "model.layers.{i}.mlp.fc1.weight"},
    {Part::kDown, "blk.{i}.ffn_down.weight", "model.layers.{i}.mlp.fc2.weight"},
};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  set_layer_norms(config, true);
  set_parallel(config, false);
  set_plain_ffn(config);
  set_biases(config, true, true, true);
  config.head_bias = true;
  const bool qk_norm = r.flag({"qk_layernorm"}, false);
  for (LayerOptions& layer : config.layers) {
    layer.qk_norm = qk_norm ? QkNorm::kHead : QkNorm::kNone;
    layer.qk_norm_kind = ops::NormKind::kLayer;
    layer.qk_norm_bias = qk_norm;
    layer.hidden.activation = r.activation(r.text({"hidden_act"}, "gelu_new"));
  }
  return config;
}

}  // namespace

extern const ArchSpec kPhi;
const ArchSpec kPhi = {"phi2", kNames, read_config, kRules};

}  // namespace fathom::model
