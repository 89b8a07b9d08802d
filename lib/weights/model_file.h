// Opens a model of any supported format: metadata and tensors, checked, nothing copied.
// Called by model/load, codec (vocabulary), apps. Read next: weights/gguf.h, weights/safetensors.h,
// weights/pytorch.h.
#pragma once

#include <memory>
#include <string>

#include "weights/metadata.h"
#include "weights/tensor_store.h"

namespace fathom::weights {

struct ModelFile {
  Metadata metadata;
  TensorStore tensors;  // empty for a vocabulary-only file
};

// `path` is a GGUF file, any part of a split GGUF model (all parts are opened), or a Hugging Face
// folder: config.json with model.safetensors or pytorch_model.bin, one file or shards and an index.
// Every count, length, offset and shape is checked before use. Errors: kNotFound, kUnsupported
// (format version, big endian, tensor type), kCorruptFile; each names file, byte offset, field,
// found and expected.
std::unique_ptr<ModelFile> open_model(const std::string& path);

}  // namespace fathom::weights
