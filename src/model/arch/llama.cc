// Llama 1 to 3 and its many descendants: pre-norm, grouped-query attention, SwiGLU, rope.
// Source: arXiv 2302.13971; llama3 rope scaling: the Llama 3.1 release. GGUF files have q and k
// rows permuted so that "halves" becomes "pairs".
#include "model/arch/common.h"
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"LlamaForCausalLM"};

ModelConfig read_config(const weights::Metadata& md) {
  ModelConfig config = read_common_config(md);
  if (md.source() == weights::Source::kGguf) {
    config.ropes[0].style = kernels::RopeStyle::kPairs;
    return config;
  }
  const bool attention_bias = md.find_bool("attention_bias").value_or(false);
  for (LayerOptions& layer : config.layers) {
    layer.qkv_bias = attention_bias;
    layer.output_bias = attention_bias;
    layer.ffn_bias = md.find_bool("mlp_bias").value_or(false);
  }
  return config;
}

}  // namespace

extern const ArchSpec kLlama;
const ArchSpec kLlama = {"llama", kNames, read_config, {}};

}  // namespace fathom::model
