// What every decoder's config has, under the keys of GGUF or of config.json.
// Called by model/arch/*. Read next: model/arch/llama.cc.
#pragma once

#include <string>
#include <string_view>

#include "model/config.h"
#include "weights/metadata.h"

namespace fathom::model {

// Sizes, eps, activation, rope and window-free layers, all alike; tied head false unless the file
// says otherwise. Errors: kCorruptFile (a missing or absurd size), kUnsupported (an activation or
// rope scaling that is not there yet, named).
ModelConfig read_common_config(const weights::Metadata& metadata);

// GGUF: the key "<architecture>.<name>".
std::string arch_key(const weights::Metadata& metadata, std::string_view name);

// config.json: `rope_parameters` of transformers 5 (`prefix` "rope_parameters." or
// "rope_parameters.full_attention."), or rope_theta and rope_scaling. Fills theta and scaling of
// `rope`.
void read_hf_rope(const weights::Metadata& metadata, std::string_view prefix, RopeOptions& rope);

// Per layer: true where config.json's layer_types says sliding_attention; `otherwise(i)` without
// that key.
template <class F>
bool is_sliding(const weights::Metadata& metadata, int64_t layer, F otherwise) {
  const auto* types = metadata.find_strings("layer_types");
  if (types == nullptr || layer >= static_cast<int64_t>(types->size())) {
    return otherwise(layer);
  }
  return (*types)[static_cast<size_t>(layer)] == "sliding_attention";
}

// The same activation names in every family.
kernels::Activation parse_activation(const weights::Metadata& metadata, std::string_view name);

}  // namespace fathom::model
