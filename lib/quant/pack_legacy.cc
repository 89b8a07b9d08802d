// Packs formats with one scale per 32 values: the file's 4-byte pieces keep their order, so packing
// is moving dwords from 16 rows side by side.
// Called by quant/pack.cc. Read next: quant/pack_tile.h.
#include "base/half.h"
#include "quant/blocks.h"
#include "quant/pack_tile.h"

namespace fathom::quant {

namespace {

// Scale (or minimum) of row r, block b; returns the not-finite flag.
uint32_t store_scale(uint16_t bits, int b, int r, std::byte* section) {
  store16(section + (b * kGroupRows + r) * 2, bits);
  return f16_not_finite(bits);
}

// qs[16]: byte j holds codes j and j + 16, as `nibbles` wants them.
void move_nibbles(const uint8_t* qs, int b, int r, std::byte* section) {
  std::byte* to = section + b * 4 * kVectorBytes + r * 4;
  for (int v = 0; v < 4; ++v) {
    store32(to + v * kVectorBytes, load32(qs + 4 * v));
  }
}

uint32_t store_scales(const BlockQ4_0& block, const PackTile& tile, int b, int r) {
  return store_scale(block.d, b, r, tile.out + tile.layout.scales);
}

uint32_t store_scales(const BlockQ5_0& block, const PackTile& tile, int b, int r) {
  return store_scale(block.d, b, r, tile.out + tile.layout.scales);
}

template <typename Block>
uint32_t store_scales(const Block& block, const PackTile& tile, int b, int r) {
  return store_scale(block.d, b, r, tile.out + tile.layout.scales) |
         store_scale(block.m, b, r, tile.out + tile.layout.mins);
}

template <typename Block, bool kHasHigh>
uint32_t pack_nibble_tile(const PackTile& tile) {
  uint32_t bad_rows = 0;
  HighBits high = {};
  for (int r = 0; r < kGroupRows; ++r) {
    const std::byte* from = tile.rows[r];
    if (from == nullptr) {
      continue;
    }
    uint32_t bad = 0;
    for (int b = 0; b < tile.n_blocks; ++b) {
      Block block;
      std::memcpy(&block, from + b * static_cast<ptrdiff_t>(sizeof block), sizeof block);
      bad |= store_scales(block, tile, b, r);
      move_nibbles(block.qs, b, r, tile.out + tile.layout.codes);
      if constexpr (kHasHigh) {
        high[r][b] = load32(block.qh);
      }
    }
    bad_rows |= (bad != 0 ? 1U : 0U) << r;
  }
  if constexpr (kHasHigh) {
    store_high1(high, tile.n_blocks, tile.out + tile.layout.high);
  }
  return bad_rows;
}

}  // namespace

uint32_t pack_tile_q4_0(const PackTile& tile) {
  return pack_nibble_tile<BlockQ4_0, false>(tile);
}

uint32_t pack_tile_q4_1(const PackTile& tile) {
  return pack_nibble_tile<BlockQ4_1, false>(tile);
}

uint32_t pack_tile_q5_0(const PackTile& tile) {
  return pack_nibble_tile<BlockQ5_0, true>(tile);
}

uint32_t pack_tile_q5_1(const PackTile& tile) {
  return pack_nibble_tile<BlockQ5_1, true>(tile);
}

uint32_t pack_tile_q8_0(const PackTile& tile) {
  constexpr uint32_t kSignToOffset = 0x80808080U;  // code + 128 flips the top bit
  uint32_t bad_rows = 0;
  for (int r = 0; r < kGroupRows; ++r) {
    const std::byte* from = tile.rows[r];
    if (from == nullptr) {
      continue;
    }
    uint32_t bad = 0;
    for (int b = 0; b < tile.n_blocks; ++b) {
      BlockQ8_0 block;
      std::memcpy(&block, from + b * static_cast<ptrdiff_t>(sizeof block), sizeof block);
      bad |= store_scale(block.d, b, r, tile.out + tile.layout.scales);
      std::byte* to = tile.out + tile.layout.codes + b * 8 * kVectorBytes + r * 4;
      for (int v = 0; v < 8; ++v) {
        store32(to + v * kVectorBytes, load32(block.qs + 4 * v) ^ kSignToOffset);
      }
    }
    bad_rows |= (bad != 0 ? 1U : 0U) << r;
  }
  return bad_rows;
}

}  // namespace fathom::quant
