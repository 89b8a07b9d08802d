// Names in the file to parts of the model, with every shape checked; missing, mis-shaped and unused
// tensors are reported together.
// Called by model/load. Read next: model/parts.h, model/arch/registry.h.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "model/config.h"
#include "model/matrix_view.h"
#include "model/parts.h"
#include "weights/model_file.h"

namespace fathom::model {

// A part as it was found: one view, or one per expert or head. Empty: the model does not have it.
struct BoundPart {
  std::vector<MatrixView> weights;
  std::vector<MatrixView> biases;  // each [1, n]; empty, or one per weight

  [[nodiscard]] bool is_bound() const { return !weights.empty(); }
};

using BoundParts = std::array<BoundPart, kNumParts>;

struct Bindings {
  BoundParts model;                // parts outside the layers
  std::vector<BoundParts> layers;  // [n_layers]

  [[nodiscard]] const BoundPart& of_model(Part part) const {
    return model.at(static_cast<size_t>(part));
  }

  [[nodiscard]] const BoundPart& of_layer(size_t layer, Part part) const {
    return layers[layer].at(static_cast<size_t>(part));
  }
};

// `rules` replace the common names of the same part. `config` may gain what only the tensor list
// tells (GGUF: tied head, biases, rope divisors). Error: kCorruptFile listing all missing,
// mis-shaped and unused tensors (at most 20).
Bindings bind_tensors(const weights::ModelFile& file, std::span<const TensorRule> rules,
                      ModelConfig& config);

// Rows of a part inside its tensor: where the first lies, how they continue (as in MatrixView), how
// many rows the tensor has (per expert of a stack).
struct RowPlace {
  int64_t first = 0;
  int64_t run = 1;
  int64_t step = 1;
  int64_t tensor_rows = 0;
};

RowPlace place_rows(Part part, Layout layout, const PartWant& want, const LayerOptions* layer);

// The place of a part in files of this kind, after `rules` replaced the common ones.
FilePlace place_of(weights::Source source, std::span<const TensorRule> rules, Part part);

// "blk.{i}.x" with the numbers put in.
std::string name_of(std::string_view pattern, int64_t layer, int64_t item);

// Name of the bias beside a weight.
std::string bias_name(std::string_view weight_name);

}  // namespace fathom::model
