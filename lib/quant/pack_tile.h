// What the packers of all formats share: one tile's inputs, and moving 4-byte pieces of four rows
// at a time so that they come to lie side by side. Called by quant/pack_legacy.cc, pack_kquants.cc,
// pack_float.cc. Read next: quant/packed.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "quant/packed.h"

namespace fathom::quant {

// One tile of 16 rows x n_blocks 32-blocks. The packer writes every section of `out` (the caller
// has zeroed what lies before the codes).
struct PackTile {
  const std::byte* const* rows = nullptr;  // [16]: starts of the tile's file bytes
  int n_blocks = 0;                        // 1..8
  TileLayout layout;
  std::byte* out = nullptr;
};

// Each returns a bit per row: set when it holds a scale or value that is NaN or infinite.
uint32_t pack_tile_q4_0(const PackTile& tile);  // and IQ4_NL
uint32_t pack_tile_q4_1(const PackTile& tile);
uint32_t pack_tile_q5_0(const PackTile& tile);
uint32_t pack_tile_q5_1(const PackTile& tile);
uint32_t pack_tile_q8_0(const PackTile& tile);
uint32_t pack_tile_q2_k(const PackTile& tile);
uint32_t pack_tile_q3_k(const PackTile& tile);
uint32_t pack_tile_q4_k(const PackTile& tile);
uint32_t pack_tile_q5_k(const PackTile& tile);
uint32_t pack_tile_q6_k(const PackTile& tile);
uint32_t pack_tile_iq4_xs(const PackTile& tile);
uint32_t pack_tile_mxfp4(const PackTile& tile);
uint32_t pack_tile_i4_group(const PackTile& tile);
uint32_t pack_tile_i8_group(const PackTile& tile);
uint32_t pack_tile_bf16(const PackTile& tile);
uint32_t pack_tile_f16_as_bf16(const PackTile& tile);
uint32_t pack_tile_f32(const PackTile& tile);
uint32_t pack_tile_f32_as_bf16(const PackTile& tile);

// Four dwords in one register (a GNU vector: SSE2, NEON or plain code, as the machine has it). Lane
// = row.
using Words [[gnu::vector_size(16)]] = uint32_t;

inline constexpr int kQuad = 4;  // rows moved together
inline constexpr int kQuads = kGroupRows / kQuad;
inline constexpr uint32_t kLow4 = 0x0F0F0F0FU;
inline constexpr ptrdiff_t kVectorBytes = 64;  // 16 rows x 4 codes

inline uint16_t load16(const void* from) {
  uint16_t value = 0;
  std::memcpy(&value, from, sizeof value);
  return value;
}

inline uint32_t load32(const void* from) {
  uint32_t value = 0;
  std::memcpy(&value, from, sizeof value);
  return value;
}

inline void store16(std::byte* to, uint16_t value) {
  std::memcpy(to, &value, sizeof value);
}

inline void store32(std::byte* to, uint32_t value) {
  std::memcpy(to, &value, sizeof value);
}

// Four rows' dwords as part `quad` of vector `index` of a section.
inline void store_vector(const Words& rows, ptrdiff_t index, int quad, std::byte* section) {
  std::memcpy(section + index * kVectorBytes + quad * ptrdiff_t{sizeof rows}, &rows, sizeof rows);
}

// The 4 x 4 dwords at `offset` of four rows, turned: word[v] holds dword v of each row.
inline void load_turned(const std::byte* const* rows, ptrdiff_t offset, Words (&word)[4]) {
  Words in[kQuad];
  for (int i = 0; i < kQuad; ++i) {
    std::memcpy(&in[i], rows[i] + offset, sizeof in[i]);
  }
  const Words a = __builtin_shufflevector(in[0], in[1], 0, 4, 1, 5);  // r0d0 r1d0 r0d1 r1d1
  const Words b = __builtin_shufflevector(in[2], in[3], 0, 4, 1, 5);
  const Words c = __builtin_shufflevector(in[0], in[1], 2, 6, 3, 7);
  const Words d = __builtin_shufflevector(in[2], in[3], 2, 6, 3, 7);
  word[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
  word[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
  word[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
  word[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

// 0x8000 when the f16 is Inf or NaN: the exponent field 31 carries into the sign's place.
inline uint32_t f16_not_finite(uint16_t bits) {
  return ((bits & 0x7C00U) + 0x0400U) & 0x8000U;
}

}  // namespace fathom::quant
