// Mistral 7B and its kin: Llama with an optional sliding window on every layer.
// Source: arXiv 2310.06825. GGUF files of this family say "llama" and have lost the window.
#include "model/arch/common.h"
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"MistralForCausalLM"};

ModelConfig read_config(const weights::Metadata& md) {
  ModelConfig config = read_common_config(md);
  for (LayerOptions& layer : config.layers) {
    layer.window = md.find_int("sliding_window").value_or(0);
  }
  return config;
}

}  // namespace

extern const ArchSpec kMistral;
const ArchSpec kMistral = {"", kNames, read_config, {}};

}  // namespace fathom::model
