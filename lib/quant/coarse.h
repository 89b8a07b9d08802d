// Weights re-scaled to int8 with one scale per row and 256 of K: what every kernel of
// `--arithmetic fast` shares with its definition.
// Called by kernels/scalar/coarse.cc, kernels/lanes/coarse.h. Read next: docs/numbers.md ("Fast
// prompts"), quant/packed_block.h.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "quant/packed.h"

namespace fathom::quant {

inline constexpr int kCoarseK = 256;  // k of one scale, of weights and of activations
inline constexpr int kCoarseStepK =
    64;  // k of a row that lie together: what one tile step multiplies
inline constexpr int kCoarseFraction = 6;  // bits behind the point while a code is re-scaled
inline constexpr int kCoarseOffset = 128;  // added to a re-scaled code where it must be unsigned

static_assert(kCoarseK == kTileK);  // a tile of weights is one coarse block

// The unsigned codes that a type holds: low .. high, below 2^bits.
struct CodeRange {
  int low = 0;
  int high = 0;
  int bits = 0;
};

constexpr CodeRange code_range(DType type) {
  switch (type) {
    case DType::kQ2_K:
      return {0, 3, 2};
    case DType::kQ3_K:
      return {0, 7, 3};
    case DType::kQ5_0:
    case DType::kQ5_1:
    case DType::kQ5_K:
      return {0, 31, 5};
    case DType::kQ6_K:
      return {0, 63, 6};
    case DType::kQ8_0:
    case DType::kI8Group:
      return {0, 255, 8};
    case DType::kIQ4_NL:
    case DType::kIQ4_XS:
      return {1, 241, 8};
    case DType::kMXFP4:
      return {0, 24, 5};
    default:  // Q4_0, Q4_1, Q4_K, I4_GROUP
      return {0, 15, 4};
  }
}

}  // namespace fathom::quant
