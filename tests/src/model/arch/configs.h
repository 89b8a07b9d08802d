// Metadata with the sizes that every decoder has, as config.json or a GGUF file would give them.
// Called by the tests beside it, which add what is special to a family.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/arch/registry.h"

namespace fathom::test {

// config.json of class `name`: 4 layers, hidden 64, 4 heads over 2 KV heads of 16.
inline weights::Metadata hf_config(const std::string& name) {
  weights::Metadata md(weights::Source::kHuggingFace, "model/config.json");
  md.set("architectures", std::vector<std::string>{name});
  md.set("num_hidden_layers", int64_t{4});
  md.set("hidden_size", int64_t{64});
  md.set("vocab_size", int64_t{160});
  md.set("intermediate_size", int64_t{96});
  md.set("num_attention_heads", int64_t{4});
  md.set("num_key_value_heads", int64_t{2});
  return md;
}

// The same sizes under the keys of a GGUF file of architecture `name`.
inline weights::Metadata gguf_config(const std::string& name) {
  weights::Metadata md(weights::Source::kGguf, "model.gguf");
  md.set("general.architecture", name);
  md.set(name + ".block_count", uint64_t{4});
  md.set(name + ".embedding_length", uint64_t{64});
  md.set(name + ".context_length", uint64_t{2048});
  md.set(name + ".vocab_size", uint64_t{160});
  md.set(name + ".feed_forward_length", uint64_t{96});
  md.set(name + ".attention.head_count", uint64_t{4});
  md.set(name + ".attention.head_count_kv", uint64_t{2});
  md.set(name + ".attention.layer_norm_rms_epsilon", 1e-5);
  return md;
}

inline model::ModelConfig read_config(const weights::Metadata& md) {
  return model::find_arch(md).read_config(md);
}

// The windows of all layers, in order.
inline std::vector<int64_t> windows(const model::ModelConfig& config) {
  std::vector<int64_t> result;
  for (const model::LayerOptions& layer : config.layers) {
    result.push_back(layer.window);
  }
  return result;
}

}  // namespace fathom::test
