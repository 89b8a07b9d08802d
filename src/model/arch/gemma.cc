// Gemma 1: norms with weight 1 + w, gated tanh GELU, embeddings times sqrt(hidden), tied head.
// Source: arXiv 2403.08295.
#include "model/arch/family_keys.h"
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"GemmaForCausalLM"};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  set_gemma_basics(config, r);
  return config;
}

}  // namespace

extern const ArchSpec kGemma;
const ArchSpec kGemma = {"gemma", kNames, read_config, {}};

}  // namespace fathom::model
