// One 32-block of a packed tile as plain numbers: integer codes and exact scales.
// Called by quant/pack (unpack_row), kernels/scalar/matmul. Read next: quant/packed.h (the layout
// it reads).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "quant/packed.h"

namespace fathom::quant {

// One row of a block: value[k] = scale[g] * w[k] - min[g], g = k / group_k.
struct PackedRow {
  int16_t w[kBlockK];  // code - zero
  int16_t zero;        // the code that stands for 0 (before a minimum)
  float scale[2];      // sw = d * sub-scale, exact
  float min[2];        // mw = dmin * sub-minimum, exact; Q4_1, Q5_1: -m; +0 for types without
};

// k per scale: 32, or 16 for Q2_K, Q3_K, Q6_K.
int group_k_of(DType type);

// True for types with a minimum: Q4_1, Q5_1, Q2_K, Q4_K, Q5_K.
bool has_min(DType type);

// The values that IQ4 nibbles stand for.
inline constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                          1,    13,   25,  38,  53,  69,  89,  113};

// Twice the values that E2M1 nibbles stand for.
inline constexpr int8_t kE2M1Doubled[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                            0, -1, -2, -3, -4, -6, -8, -12};

// Value j (0..255) of a packed6 section.
int packed6_at(const std::byte* section, int j);

// Which row of a tile: `type` any packed type except BF16 and F32.
struct TileRow {
  DType type = DType::kQ4_0;
  const std::byte* tile = nullptr;
  TileLayout layout;
  int r = 0;  // 0..15
};

// 32-block `b` of the row.
PackedRow read_packed_row(const TileRow& row, int b);

}  // namespace fathom::quant
