// OLMoE: pre-norm layers with a qk-norm over all heads at once and 64 experts whose weights are not
// renormalized. Source: arXiv 2409.02060.
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"OlmoeForCausalLM"};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  set_qk_norm(config, QkNorm::kWide);
  config.clip_qkv = r.limit({"clip_qkv", "attention.clamp_kqv"}, 0.0);
  const bool bias = r.flag({"attention_bias"}, false);
  set_biases(config, bias, bias, false);
  set_experts(config, r.experts());
  return config;
}

}  // namespace

extern const ArchSpec kOlmoe;
const ArchSpec kOlmoe = {"olmoe", kNames, read_config, {}};

}  // namespace fathom::model
