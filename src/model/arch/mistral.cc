// Mistral 7B and its kin: Llama with an optional sliding window on every layer.
// Source: arXiv 2310.06825. GGUF files of this family say "llama" and have lost the window.
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"MistralForCausalLM"};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  const int64_t window = r.integer({"sliding_window"}, 0);
  set_windows(config, r, window, [](int64_t) { return true; });
  return config;
}

}  // namespace

extern const ArchSpec kMistral;
const ArchSpec kMistral = {"", kNames, read_config, {}};

}  // namespace fathom::model
