// The packed layout, one family for every weight type and every instruction set ("T16").
//
// A matrix [n_rows, n_cols] is cut into groups of 16 rows (the last padded with zero rows); a group
// runs along K in tiles of 16 rows x 256 k (the last tile may be short: a multiple of 32). A SIMD
// lane owns an output row. A tile of nb 32-blocks is, section after section, each section padded
// to 64 bytes (d and dmin of a K-quant are one section: d at 0, dmin at 32):
//
//   type            sections (r = row 0..15, b = 32-block, g = 16-group, v = vector 0..7 of 4 k)
//   Q4_0 IQ4_NL     scales f16 [nb][16]                                        nibbles
//   [nb][4][16][4] Q4_1            scales f16 [nb][16]   mins f16 [nb][16] nibbles Q5_0 scales f16
//   [nb][16]                    nibbles  high1 [nb][8 masks of 64 bits] Q5_1            scales f16
//   [nb][16]   mins f16 [nb][16] nibbles high1 Q8_0            scales f16 [nb][16] bytes
//   [nb][8][16][4], code + 128 Q4_K            d f16 [16]  dmin f16 [16]  packed6 [192] nibbles
//   Q5_K            d f16 [16]  dmin f16 [16]  packed6 [192]        nibbles    high1
//   Q6_K            d f16 [16]  scales i8 [16 g][16 r]              nibbles    high2 [nb][2][16][4]
//   Q3_K            d f16 [16]  packed6 [192] (scale + 32)          codes2 [nb][2][16][4]  high1
//   Q2_K            d f16 [16]  dmin f16 [16]  bytes [16 g][16 r] = scale | min << 4   codes2
//   IQ4_XS          d f16 [16]  packed6 as [8 b][16 r] bytes (scale, 0..63)     nibbles
//   MXFP4           exponents u8 [nb][16] (E8M0)                    nibbles
//   I4_GROUP        scales f32 [nb][16]  zeros u8 [nb][16]          nibbles
//   I8_GROUP        scales f32 [nb][16]  zeros u8 [nb][16]          bytes [nb][8][16][4], the code
//   BF16            bf16 [k/2][16][2]
//   F32             f32 [k][16]
//
//   nibbles: byte [b][v][r][i] holds k = 32b + 4v + i in its low half, k + 16 in its high half.
//   bytes:   byte [b][v][r][i] holds k = 32b + 4v + i.
//   high1:   bit (4r + i) of mask v is the top bit (bit 4; Q3_K: bit 2) of code vector v of block
//   b,
//            v = 0..7 in the order of `bytes`.
//   high2, codes2: byte [b][h][r][i], field f (bits 2f, 2f+1) belongs to code vector v = 4h + f.
//   packed6: 256 six-bit values j = 0..255 in three 64-byte vectors A B C: j < 64: A[j] & 63,
//            j < 128: B[j-64] & 63, j < 192: C[j-128] & 63, else o = j-192:
//            A[o]>>6 | (B[o]>>6)<<2 | (C[o]>>6)<<4.
//            Q4_K, Q5_K: j = 16b + r the scale, 128 + 16b + r the minimum. Q3_K: j = 16g + r.
//
// The code that multiplies is unsigned: value = scale * (code - zero) (- min), zero = 8 (Q4_0),
// 16 (Q5_0), 128 (Q8_0), 32 (Q6_K), 4 (Q3_K), 0 for types with a minimum; IQ4 maps the nibble
// through the code book + 128, zero = 128. MXFP4 maps it through twice the E2M1 values + 12, zero =
// 12, and its scale is half of what the exponent says. I4_GROUP and I8_GROUP carry their zero.
//
// Called by kernels, ops, model/load. Read next: quant/pack.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"

namespace fathom::quant {

inline constexpr int kGroupRows = 16;  // output rows of a group: one SIMD lane each
inline constexpr int kBlockK = 32;     // K step of activations' scales
inline constexpr int kTileK = 256;     // K of a full tile
inline constexpr int kSegmentK = 512;  // K after which a partial sum joins the total

// Byte offsets of the sections inside a tile of `n_blocks` 32-blocks; -1 where there is none.
struct TileLayout {
  int scales = -1;  // f16 (f32, E8M0) per block, or d
  int mins = -1;    // f16 per block, or dmin
  int sub = -1;     // packed6, int8 or nibble-pair sub-scales
  int zeros = -1;   // u8 per block: zero points
  int codes = -1;   // nibbles, bytes, codes2, or the floats
  int high = -1;    // high1 or high2
  int bytes = 0;    // size of the tile, a multiple of 64
};

// `n_blocks` 1..8; K-quants have full tiles only.
TileLayout tile_layout(DType type, int n_blocks);

// True for the types above.
bool is_packed_type(DType type);

// What a matrix of file type `type` is packed as: F16 and F8 become BF16, others keep their type;
// all become F32 when `as_f32` (--compute f32).
DType packed_type_of(DType type, bool as_f32);

// Bytes of one group of 16 rows with `n_cols` columns (rounded up to 32 for F32 and BF16).
int64_t group_bytes(DType type, int64_t n_cols);

// Bytes of a whole packed matrix.
int64_t packed_bytes(DType type, int64_t n_rows, int64_t n_cols);

// A packed matrix; owns nothing. Groups may be interleaved with those of another matrix
// (gate and up joined): then group_stride_bytes is larger than group_bytes.
struct PackedMatrix {
  DType type = DType::kF32;
  int64_t n_rows = 0;
  int64_t n_cols = 0;
  const std::byte* data = nullptr;
  int64_t group_stride_bytes = 0;

  [[nodiscard]] int64_t n_groups() const { return (n_rows + kGroupRows - 1) / kGroupRows; }

  [[nodiscard]] const std::byte* group(int64_t index) const {
    return data + index * group_stride_bytes;
  }
};

}  // namespace fathom::quant
