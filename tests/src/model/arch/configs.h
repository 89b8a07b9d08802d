// Files with the sizes that every decoder has, as config.json or GGUF would give them, and the
// tiny models of tests/parity by name.
// Called by the tests beside it, which add what is special to a family.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/arch/registry.h"
#include "src/model/made_file.h"

namespace fathom::test {

// config.json of class `name`: 4 layers, hidden 64, 4 heads over 2 KV heads of 16.
inline MadeFile hf_config(const std::string& name) {
  MadeFile file;
  file.set("architectures", std::vector<std::string>{name});
  file.set("num_hidden_layers", int64_t{4});
  file.set("hidden_size", int64_t{64});
  file.set("vocab_size", int64_t{160});
  file.set("intermediate_size", int64_t{96});
  file.set("num_attention_heads", int64_t{4});
  file.set("num_key_value_heads", int64_t{2});
  return file;
}

// The same sizes under the keys of a GGUF file of architecture `name`.
inline MadeFile gguf_config(const std::string& name) {
  MadeFile file(weights::Source::kGguf);
  file.set("general.architecture", name);
  file.set(name + ".block_count", uint64_t{4});
  file.set(name + ".embedding_length", uint64_t{64});
  file.set(name + ".context_length", uint64_t{2048});
  file.set(name + ".vocab_size", uint64_t{160});
  file.set(name + ".feed_forward_length", uint64_t{96});
  file.set(name + ".attention.head_count", uint64_t{4});
  file.set(name + ".attention.head_count_kv", uint64_t{2});
  file.set(name + ".attention.layer_norm_rms_epsilon", 1e-5);
  return file;
}

// What the file's architecture reads from it.
inline model::ModelConfig read_config(const weights::ModelFile& file) {
  return model::find_arch(file.metadata).read_config(model::ConfigReader(file));
}

inline model::ModelConfig read_config(const MadeFile& file) {
  return read_config(file.file());
}

// What all families start from.
inline model::ModelConfig read_common(const MadeFile& file) {
  return model::ConfigReader(file.file()).common();
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
