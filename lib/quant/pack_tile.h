// What the packers of all formats share: one tile's inputs, 4-byte moves and bit transposes.
// Called by quant/pack_legacy.cc, pack_kquants.cc, pack_float.cc. Read next: quant/packed.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "quant/packed.h"

namespace fathom::quant {

// One tile of 16 rows x n_blocks 32-blocks. The packer writes every section of `out`; rows that are
// nullptr are left to the zeros that the caller put there.
struct PackTile {
  const std::byte* const* rows = nullptr;  // [16]: starts of the tile's file bytes
  int n_blocks = 0;                        // 1..8
  TileLayout layout;
  std::byte* out = nullptr;
};

// Returns a bit per row: set when it holds a scale or value that is NaN or infinite.
using PackTileFn = uint32_t (*)(const PackTile&);

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
uint32_t pack_tile_bf16(const PackTile& tile);
uint32_t pack_tile_f16_as_bf16(const PackTile& tile);
uint32_t pack_tile_f32(const PackTile& tile);

inline constexpr uint32_t kLow4 = 0x0F0F0F0FU;
inline constexpr ptrdiff_t kVectorBytes = 64;  // 16 rows x 4 codes

inline uint32_t load32(const void* from) {
  uint32_t value = 0;
  std::memcpy(&value, from, sizeof value);
  return value;
}

inline uint64_t load64(const void* from) {
  uint64_t value = 0;
  std::memcpy(&value, from, sizeof value);
  return value;
}

inline void store16(std::byte* to, uint16_t value) {
  std::memcpy(to, &value, sizeof value);
}

inline void store32(std::byte* to, uint32_t value) {
  std::memcpy(to, &value, sizeof value);
}

// 0x8000 when the f16 is Inf or NaN: the exponent field 31 carries into the sign's place.
inline uint32_t f16_not_finite(uint16_t bits) {
  return ((bits & 0x7C00U) + 0x0400U) & 0x8000U;
}

// bits[r][b]: bit k is the top bit of code k of row r in 32-block b. Writes the high1 section: mask
// v of block b holds the four bits 4v.. of row r at 4r..4r+3.
using HighBits = uint32_t[kGroupRows][kTileK / kBlockK];

inline void store_high1(const HighBits& bits, int n_blocks, std::byte* section) {
  for (int b = 0; b < n_blocks; ++b) {
    std::byte* masks = section + b * kVectorBytes;
    for (int r = 0; r < kGroupRows; r += 2) {
      // Nibble v of both rows makes byte r/2 of mask v.
      const uint32_t even = (bits[r][b] & kLow4) | (bits[r + 1][b] & kLow4) << 4;
      const uint32_t odd = (bits[r][b] >> 4 & kLow4) | (bits[r + 1][b] & ~kLow4);
      for (int i = 0; i < 4; ++i) {
        masks[(2 * i) * 8 + r / 2] = static_cast<std::byte>(even >> (8 * i) & 0xFFU);
        masks[(2 * i + 1) * 8 + r / 2] = static_cast<std::byte>(odd >> (8 * i) & 0xFFU);
      }
    }
  }
}

// Four dwords of 2-bit fields: field j of word f trades places with field f of word j.
inline void transpose_fields2(uint32_t (&word)[4]) {
  constexpr uint32_t kPairs = 0x33333333U;
  for (int i = 0; i < 4; i += 2) {  // swap fields inside neighbours
    const uint32_t swap = ((word[i] >> 2) ^ word[i + 1]) & kPairs;
    word[i + 1] ^= swap;
    word[i] ^= swap << 2;
  }
  for (int i = 0; i < 2; ++i) {  // swap pairs of fields between words 2 apart
    const uint32_t swap = ((word[i] >> 4) ^ word[i + 2]) & kLow4;
    word[i + 2] ^= swap;
    word[i] ^= swap << 4;
  }
}

// Fields of 2 bits in K-quant order (byte 32 h + l, field j: k = 128 h + 32 j + l) into the order
// of codes2 and high2 for row r.
inline void store_codes2(const uint8_t* from, int r, std::byte* section) {
  for (int h = 0; h < 2; ++h) {
    for (int half = 0; half < 2; ++half) {
      uint32_t word[4];
      for (int f = 0; f < 4; ++f) {
        word[f] = load32(from + 32 * h + 16 * half + 4 * f);
      }
      transpose_fields2(word);
      for (int j = 0; j < 4; ++j) {
        store32(section + ((4 * h + j) * 2 + half) * kVectorBytes + r * 4, word[j]);
      }
    }
  }
}

// Nibbles in K-quant order: 32 bytes whose low halves are 32-block `low` and high halves block
// `high`.
inline void store_nibbles(const uint8_t* from, int low, int high, int r, std::byte* section) {
  for (int v = 0; v < 4; ++v) {
    const uint32_t first = load32(from + 4 * v);        // k = 4v..
    const uint32_t second = load32(from + 16 + 4 * v);  // k = 16 + 4v..
    store32(section + (low * 4 + v) * kVectorBytes + r * 4, (first & kLow4) | (second & kLow4)
                                                                                  << 4);
    store32(section + (high * 4 + v) * kVectorBytes + r * 4,
            (first >> 4 & kLow4) | (second & ~kLow4));
  }
}

// 32 bytes of 8 bits: bit b of byte l becomes bit l of out[b].
inline void transpose_bits(const uint8_t* from, uint32_t (&out)[kTileK / kBlockK]) {
  for (uint32_t& word : out) {
    word = 0;
  }
  for (int part = 0; part < 4; ++part) {
    uint64_t x = load64(from + 8 * part);
    uint64_t swap = (x ^ (x >> 7)) & 0x00AA00AA00AA00AAULL;  // 8x8 bits by halves: 1, 2, 4
    x ^= swap ^ (swap << 7);
    swap = (x ^ (x >> 14)) & 0x0000CCCC0000CCCCULL;
    x ^= swap ^ (swap << 14);
    swap = (x ^ (x >> 28)) & 0x00000000F0F0F0F0ULL;
    x ^= swap ^ (swap << 28);
    for (int b = 0; b < 8; ++b) {
      out[b] |= static_cast<uint32_t>(x >> (8 * b) & 0xFFU) << (8 * part);
    }
  }
}

}  // namespace fathom::quant
