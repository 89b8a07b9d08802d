// ERNIE 4.5 dense: Llama with rotation in pairs, tied head, biases by one key. Source: the released
// models' technical report, 2025.
#include "model/arch/registry.h"
#include "model/arch/rope_keys.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"Ernie4_5ForCausalLM"};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  set_rope_pairs(config);
  config.tied_head = r.flag({"tie_word_embeddings"}, true);
  const bool bias = r.flag({"use_bias"}, false);
  set_biases(config, bias, bias, bias);
  return config;
}

}  // namespace

extern const ArchSpec kErnie45;
const ArchSpec kErnie45 = {"ernie4_5", kNames, read_config, {}};

}  // namespace fathom::model
