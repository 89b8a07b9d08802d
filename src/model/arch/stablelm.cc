// StableLM 2 and 3B: layer norms with bias, gated SiLU, rotation of a quarter of each head; the 12B
// model has parallel branches of one norm and a qk-norm per head. Source: arXiv 2402.17834.
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"StableLmForCausalLM", "StableLMEpochForCausalLM"};

constexpr TensorRule kRules[] = {
    {Part::kQNorm, "blk.{i}.attn_q_norm.weight",
     "model.layers.{i}.self_attn.q_layernorm.norms.{e}.weight"},
    {Part::kKNorm, "blk.{i}.attn_k_norm.weight",
     "model.layers.{i}.self_attn.k_layernorm.norms.{e}.weight"},
};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  set_layer_norms(config, true);
  set_biases(config, r.flag({"use_qkv_bias"}, false), false, false);
  if (r.flag({"use_parallel_residual", "use_parallel_residual"}, false)) {
    set_parallel(config, false);
  }
  const bool qk_norm =
      r.is_gguf() ? r.has_tensor("blk.0.attn_q_norm.weight") : r.flag({"qk_layernorm"}, false);
  for (LayerOptions& layer : config.layers) {
    layer.qk_norm = qk_norm ? QkNorm::kEachHead : QkNorm::kNone;
    layer.qk_norm_kind = ops::NormKind::kLayer;
  }
  if (!r.is_gguf() &&
      !r.find_real({"partial_rotary_factor|rope_pct|rope_parameters.partial_rotary_factor"})) {
    config.ropes.front().rotary_dim = config.layers.front().head_dim / 4;
  }
  return config;
}

}  // namespace

extern const ArchSpec kStablelm;
const ArchSpec kStablelm = {"stablelm", kNames, read_config, kRules};

}  // namespace fathom::model
