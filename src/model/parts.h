// Every tensor that a decoder may have: its common name in files, how it may lie inside a larger
// tensor, and the shape that a config asks for.
// Called by model/bind, model/arch (rules where a family differs). Read next: model/bind.h.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "model/config.h"

namespace fathom::model {

// Up to kRopeShort once per model, the others per layer. A part's bias is found beside it.
enum class Part : uint8_t {
  kEmbedding,
  kEmbedNorm,
  kPositions,
  kProjectIn,
  kProjectOut,
  kLastNorm,
  kHead,
  kRopeDivisors,
  kRopeLong,
  kRopeShort,
  // per layer
  kAttnNorm,
  kAttnPostNorm,
  kFfnNorm,
  kFfnPostNorm,
  kQ,
  kK,
  kV,
  kOutput,
  kQNorm,
  kKNorm,
  kSinks,
  // latent attention
  kQA,
  kQANorm,
  kQB,
  kKvA,
  kKvANorm,
  kKB,  // one matrix [kv_rank, nope_dim] per head: nope part of q into the latent space
  kVB,  // one matrix [value_dim, kv_rank] per head: out of it
  kGate,
  kUp,
  kDown,
  kRouter,
  kCorrection,
  kExpertGate,  // one matrix per expert
  kExpertUp,
  kExpertDown,
  kSharedGate,
  kSharedUp,
  kSharedDown,
  kSharedRouter,
};

inline constexpr int kNumParts = static_cast<int>(Part::kSharedRouter) + 1;

[[nodiscard]] constexpr bool is_per_layer(Part part) {
  return part > Part::kRopeShort;
}

// How a part lies in its tensor.
enum class Layout : uint8_t {
  kPlain,
  kQkvBlocks,     // all of q, then k, then v
  kQkvHeads,      // per head [q, k, v]
  kQkvGroups,     // per KV head [its q heads, k, v]
  kGateUpBlocks,  // gate, then up
  kGateUpPairs,   // rows of gate and up in turn
  kLatentHeads,   // per head [nope rows of k, rows of v]
};

// "{i}" in a name stands for the layer, "{e}" for the expert or head; a part of many matrices
// without "{e}" is one stacked tensor. An empty name: files of this kind do not have the part.
struct FilePlace {
  std::string_view name;
  Layout layout = Layout::kPlain;
  bool transposed = false;  // stored [in, out]

  constexpr FilePlace(const char* text) : name(text) {}  // NOLINT: a name alone is the usual place

  constexpr FilePlace(std::string_view text, Layout how, bool turned = false)
      : name(text), layout(how), transposed(turned) {}

  constexpr FilePlace() = default;
};

struct TensorRule {
  Part part;
  int n_parts;  // of one fused tensor: `part` and those behind it (q, k, v; gate, up)
  FilePlace gguf;
  FilePlace hf;

  constexpr TensorRule(Part which, FilePlace in_gguf, FilePlace in_hf, int parts = 1)
      : part(which), n_parts(parts), gguf(in_gguf), hf(in_hf) {}

  [[nodiscard]] constexpr bool holds(Part other) const {
    return other >= part && static_cast<int>(other) < static_cast<int>(part) + n_parts;
  }
};

// The names that most families share.
std::span<const TensorRule> common_rules();

// What a config asks of a part.
struct PartWant {
  bool needed = false;
  int64_t count = 0;  // matrices: experts or heads; 0: a single one
  int64_t n_rows = 1;
  int64_t n_cols = 0;
  bool bias = false;  // [n_rows] of a matrix, [n_cols] of a norm
};

PartWant want_of_model(Part part, const ModelConfig& config);
PartWant want_of_layer(Part part, const ModelConfig& config, const LayerOptions& layer);

}  // namespace fathom::model
