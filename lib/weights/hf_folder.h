// Opens a Hugging Face model folder: config.json and its safetensors or pytorch_model.bin files.
// Called by weights/model_file. Read next: weights/json.h, weights/safetensors.h,
// weights/pytorch.h.
#pragma once

#include <memory>
#include <string>

#include "weights/model_file.h"

namespace fathom::weights {

// Metadata holds config.json flattened, and generation_config.json under "generation."; where
// config.json has no quantization_config, its keys come from quantize_config.json (GPTQ) or
// quant_config.json (AWQ) if one of them is there. Tensors
// come from the first of these that is there: model.safetensors, the shards that
// model.safetensors.index.json names, pytorch_model.bin, the shards that
// pytorch_model.bin.index.json names. Errors: kNotFound (no config.json, no weights, a shard
// missing), kCorruptFile and kUnsupported (see json.h, safetensors.h and pytorch.h; a shard name
// with a folder in it; a tensor that is not in its shard, or in two).
std::unique_ptr<ModelFile> open_hf_folder(const std::string& folder);

}  // namespace fathom::weights
