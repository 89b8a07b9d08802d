// Names in the file to parts of the model, with every shape checked; missing, mis-shaped and unused
// tensors are reported together.
// Called by model/load. Read next: model/arch/registry.h.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/tensor.h"
#include "model/config.h"
#include "weights/model_file.h"

namespace fathom::model {

// Every tensor that a decoder may have. The first four are once per model, the others per layer.
enum class Part : uint8_t {
  kEmbedding,
  kHead,
  kLastNorm,
  kRopeDivisors,
  kAttnNorm,
  kAttnPostNorm,
  kFfnNorm,
  kFfnPostNorm,
  kQ,
  kK,
  kV,
  kOutput,
  kQBias,
  kKBias,
  kVBias,
  kOutputBias,
  kQNorm,
  kKNorm,
  kGate,
  kUp,
  kDown,
  kGateBias,
  kUpBias,
  kDownBias,
};

inline constexpr int kNumParts = static_cast<int>(Part::kDownBias) + 1;

// A part's name in each kind of file; "{i}" stands for the layer.
struct TensorRule {
  Part part;
  std::string_view gguf;
  std::string_view hf;
};

// One entry per Part; nullptr: the model does not have it.
using BoundParts = std::array<const FileTensor*, kNumParts>;

struct Bindings {
  BoundParts model = {};           // parts outside the layers
  std::vector<BoundParts> layers;  // [n_layers]
};

// `rules` replace the common names of the same part. `config` may gain what only the tensor list
// tells (GGUF: tied head, biases, rope divisors). Error: kCorruptFile listing all missing,
// mis-shaped and unused tensors (at most 20).
Bindings bind_tensors(const weights::ModelFile& file, std::span<const TensorRule> rules,
                      ModelConfig& config);

}  // namespace fathom::model
