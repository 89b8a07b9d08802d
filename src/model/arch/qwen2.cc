// Qwen2 and Qwen2.5: Llama with a bias on q, k and v, never on o; an optional window on the upper
// layers. Source: arXiv 2407.10671.
#include "model/arch/family_keys.h"
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"Qwen2ForCausalLM"};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  set_biases(config, true, false, false);
  set_qwen_windows(config, r);
  return config;
}

}  // namespace

extern const ArchSpec kQwen2;
const ArchSpec kQwen2 = {"qwen2", kNames, read_config, {}};

}  // namespace fathom::model
