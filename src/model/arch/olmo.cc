// OLMo 1: Llama with layer norms that have nothing to learn, q k v optionally clamped. Source:
// arXiv 2402.00838. GGUF files have q and k permuted.
#include "model/arch/registry.h"
#include "model/arch/rope_keys.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"OlmoForCausalLM"};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  set_layer_norms(config, false);
  config.norm_weight = false;
  config.norm_eps = 1e-5;
  config.clip_qkv = r.limit({"clip_qkv", "attention.clamp_kqv"}, 0.0);
  const bool bias = r.flag({"attention_bias"}, false);
  set_biases(config, bias, bias, false);
  if (r.is_gguf()) {
    set_rope_pairs(config);
    config.pairs_from_halves = true;
  }
  return config;
}

}  // namespace

extern const ArchSpec kOlmo;
const ArchSpec kOlmo = {"olmo", kNames, read_config, {}};

}  // namespace fathom::model
