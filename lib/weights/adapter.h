// A LoRA adapter as peft saves it: two low-rank matrices beside each module, found and named.
// Called by api/session. Read next: weights/adapter_config.h, model/lora.h (puts them beside the
// weights). Source: arXiv 2106.09685; peft's save_pretrained.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "weights/adapter_config.h"
#include "weights/tensor_store.h"

namespace fathom::weights {

// The two matrices of one module: y += scale * (b (a x)).
struct AdapterMatrices {
  std::string module;             // "model.layers.0.self_attn.q_proj"
  const FileTensor* a = nullptr;  // [rank, n_in]; null: the file lacks it
  const FileTensor* b = nullptr;  // [n_out, rank]
  int64_t rank = 0;               // as the config says
  double scale = 1;               // as the config says
  bool is_target = true;          // false: the config does not name this module
};

struct Adapter {
  AdapterConfig config;
  TensorStore tensors;
  std::vector<AdapterMatrices> modules;   // by name
  std::vector<const FileTensor*> others;  // tensors that are no such matrix
};

// `folder` holds adapter_config.json, and adapter_model.safetensors or adapter_model.bin. Shapes
// are checked by model/lora, which knows the model. Errors: kNotFound (a file), those of
// read_adapter_config, safetensors.h and pytorch.h; kCorruptFile for no tensors at all;
// kUnsupported naming the tensor for what only other kinds of adapters have (magnitudes,
// embeddings, biases).
std::unique_ptr<Adapter> open_adapter(const std::string& folder);

}  // namespace fathom::weights
