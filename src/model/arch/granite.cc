// Granite 3: Llama with multipliers on embeddings, branches, scores and logits. Source: the
// released models, 2024. GGUF files have q and k permuted.
#include "model/arch/family_keys.h"
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"GraniteForCausalLM"};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  set_granite_basics(config, r);
  return config;
}

}  // namespace

extern const ArchSpec kGranite;
const ArchSpec kGranite = {"granite", kNames, read_config, {}};

}  // namespace fathom::model
