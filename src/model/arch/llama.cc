// Llama 1 to 3 and its many descendants: pre-norm, grouped-query attention, SwiGLU, rope.
// Source: arXiv 2302.13971; llama3 rope scaling: the Llama 3.1 release. GGUF files have q and k
// rows permuted so that "halves" becomes "pairs"; Mixtral's carry the same name, with experts.
#include "model/arch/registry.h"
#include "model/arch/rope_keys.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"LlamaForCausalLM"};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  if (r.is_gguf()) {
    set_rope_pairs(config);
    config.pairs_from_halves = true;
    if (r.integer({{}, "expert_count"}, 0) > 0) {
      ExpertOptions experts = r.experts();
      experts.router.renormalize = true;
      set_experts(config, experts);
    }
    return config;
  }
  const bool attention_bias = r.flag({"attention_bias"}, false);
  set_biases(config, attention_bias, attention_bias, r.flag({"mlp_bias"}, false));
  return config;
}

}  // namespace

extern const ArchSpec kLlama;
const ArchSpec kLlama = {"llama", kNames, read_config, {}};

}  // namespace fathom::model
