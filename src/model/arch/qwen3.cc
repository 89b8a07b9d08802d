// Qwen3 dense: Llama with an RMS norm per head on q and k before the rotation, and no bias unless
// config.json asks for one. Source: arXiv 2505.09388, section 2.
#include "model/arch/family_keys.h"
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"Qwen3ForCausalLM"};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  set_qk_norm(config, QkNorm::kHead);
  const bool bias = r.flag({"attention_bias"}, false);
  set_biases(config, bias, bias, false);
  set_qwen_windows(config, r);
  return config;
}

}  // namespace

extern const ArchSpec kQwen3;
const ArchSpec kQwen3 = {"qwen3", kNames, read_config, {}};

}  // namespace fathom::model
