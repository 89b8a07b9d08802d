// Opens a Hugging Face model folder: config.json and its safetensors files.
// Called by weights/model_file. Read next: weights/json.h, weights/safetensors.h.
#pragma once

#include <memory>
#include <string>

#include "weights/model_file.h"

namespace fathom::weights {

// Metadata holds config.json flattened, and generation_config.json under "generation.". Tensors
// come from model.safetensors, or from the shards that model.safetensors.index.json names. Errors:
// kNotFound (no config.json, no weights, a shard missing), kUnsupported (weights as
// pytorch_model*.bin only), kCorruptFile (see json.h and safetensors.h; a shard name with a folder
// in it; a tensor that is not in its shard).
std::unique_ptr<ModelFile> open_hf_folder(const std::string& folder);

}  // namespace fathom::weights
