// Command R: parallel branches of one layer norm without bias, rotation in pairs, logits times a
// factor, tied head; the larger model has a qk-norm per head. Source: the released models, 2024.
#include "model/arch/family_keys.h"
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"CohereForCausalLM"};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  set_cohere_basics(config, r);
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
