// One 32-block of a packed tile as plain numbers: integer codes and exact scales of 16 rows.
// Called by quant/unpack, kernels/scalar/matmul. Read next: quant/packed.h (the layout it reads).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "quant/packed.h"

namespace fathom::quant {

// value[r][k] = scale[g][r] * w[r][k] - min[g][r], g = k / group_k.
struct PackedBlock {
  int group_k = kBlockK;  // k per scale: 32, or 16 for Q2_K, Q3_K, Q6_K
  bool has_min = false;
  int8_t w[kGroupRows][kBlockK];  // code - zero
  float scale[2][kGroupRows];     // sw = d * sub-scale, exact
  float min[2][kGroupRows];       // mw = dmin * sub-minimum, exact; Q4_1, Q5_1: -m; set if has_min
};

// The values that IQ4 nibbles stand for.
inline constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                          1,    13,   25,  38,  53,  69,  89,  113};

// Value j (0..255) of a packed6 section.
int packed6_at(const std::byte* section, int j);

// Block `b` of a tile; `type` any packed type except BF16 and F32.
void read_packed_block(DType type, const std::byte* tile, const TileLayout& layout, int b,
                       PackedBlock* out);

}  // namespace fathom::quant
