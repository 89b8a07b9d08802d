// Qwen3-MoE: Qwen3 with routed experts and no shared one; weights renormalized in the released
// models. Source: arXiv 2505.09388, section 2.
#include "model/arch/family_keys.h"
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"Qwen3MoeForCausalLM"};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  set_qk_norm(config, QkNorm::kHead);
  const bool bias = r.flag({"attention_bias"}, false);
  set_biases(config, bias, bias, false);
  if (r.flag({"use_sliding_window"}, false)) {
    set_windows(config, r, r.integer({"sliding_window"}, 4096), [](int64_t) { return true; });
  }
  ExpertOptions experts = r.experts();
  experts.router.renormalize =
      r.flag({"norm_topk_prob", "expert_weights_norm"}, r.is_gguf());  // not written to GGUF
  set_qwen_experts(config, r, experts);
  return config;
}

}  // namespace

extern const ArchSpec kQwen3Moe;
const ArchSpec kQwen3Moe = {"qwen3moe", kNames, read_config, {}};

}  // namespace fathom::model
