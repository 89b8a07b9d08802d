// Command R: parallel branches of one layer norm without bias, rotation in pairs, logits times a
// factor, tied head; the larger model has a qk-norm per head. Source: the released models, 2024.
#include "model/arch/registry.h"
#include "model/arch/rope_keys.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"CohereForCausalLM"};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  set_layer_norms(config, false);
  set_parallel(config, false);
  set_rope_pairs(config);
  config.tied_head = r.flag({"tie_word_embeddings"}, true);
  config.logit_scale = r.real({"logit_scale", "logit_scale"}, 0.0625);
  const bool bias = r.flag({"attention_bias"}, false);
  set_biases(config, bias, bias, false);
  const bool qk_norm =
      r.is_gguf() ? r.has_tensor("blk.0.attn_q_norm.weight") : r.flag({"use_qk_norm"}, false);
  for (LayerOptions& layer : config.layers) {
    layer.qk_norm = qk_norm ? QkNorm::kEachHead : QkNorm::kNone;
    layer.qk_norm_kind = ops::NormKind::kLayer;
  }
  return config;
}

}  // namespace

extern const ArchSpec kCohere;
const ArchSpec kCohere = {"command-r", kNames, read_config, {}};

}  // namespace fathom::model
