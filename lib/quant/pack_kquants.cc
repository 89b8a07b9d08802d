// Packs formats with sub-scales inside blocks of 256: nibbles and fields change partners,
// sub-scales are collected over 16 rows. Called by quant/pack.cc. Read next: quant/pack_bits.h,
// quant/blocks.h.
#include <cstddef>

#include "quant/blocks.h"
#include "quant/pack_bits.h"

namespace fathom::quant {

namespace {

constexpr uint32_t kLow2 = 0x03030303U;
constexpr uint32_t kLow6 = 0x3F3F3F3FU;

// d and, where the format has one, dmin of 16 rows; returns a bit per row that is not finite.
template <typename Block>
uint32_t move_super(const PackTile& tile) {
  uint32_t bad_rows = 0;
  for (int r = 0; r < kGroupRows; ++r) {
    const uint16_t d = load16(tile.rows[r] + offsetof(Block, d));
    store16(tile.out + tile.layout.scales + ptrdiff_t{r} * 2, d);
    uint32_t bad = f16_not_finite(d);
    if constexpr (requires(Block b) { b.dmin; }) {
      const uint16_t dmin = load16(tile.rows[r] + offsetof(Block, dmin));
      store16(tile.out + tile.layout.mins + ptrdiff_t{r} * 2, dmin);
      bad |= f16_not_finite(dmin);
    }
    bad_rows |= bad >> 15 << r;
  }
  return bad_rows;
}

// The 256 values of packed6 in their order, before packing.
using SubScales = uint8_t[256];

void store_packed6(const SubScales& values, std::byte* section) {
  for (int part = 0; part < 3; ++part) {
    for (int o = 0; o < 64; o += 4) {
      const uint32_t low = load32(values + ptrdiff_t{64} * part + o);
      const uint32_t high = load32(values + 192 + o) >> (2 * part) & kLow2;
      store32(section + ptrdiff_t{64} * part + o, low | high << 6);
    }
  }
}

// Byte i of `four` goes to values[first + 16 i].
void scatter4(uint32_t four, int first, SubScales* values) {
  for (int i = 0; i < 4; ++i) {
    (*values)[first + i * kGroupRows] = static_cast<uint8_t>(four >> (8 * i));
  }
}

// The 12 bytes of Q4_K and Q5_K: eight scales at 16 b + r, eight minimums at 128 + 16 b + r.
void collect_k4(const std::byte* scales, int r, SubScales* values) {
  const uint32_t s0 = load32(scales);
  const uint32_t s1 = load32(scales + 4);
  const uint32_t s2 = load32(scales + 8);
  scatter4(s0 & kLow6, r, values);
  scatter4((s2 & kLow4) | (s0 >> 6 & kLow2) << 4, r + 64, values);
  scatter4(s1 & kLow6, 128 + r, values);
  scatter4((s2 >> 4 & kLow4) | (s1 >> 6 & kLow2) << 4, 128 + r + 64, values);
}

// The 12 bytes of Q3_K: sixteen scales at 16 g + r.
void collect_k3(const std::byte* scales, int r, SubScales* values) {
  const uint32_t s0 = load32(scales);
  const uint32_t s1 = load32(scales + 4);
  const uint32_t s2 = load32(scales + 8);
  scatter4((s0 & kLow4) | (s2 & kLow2) << 4, r, values);
  scatter4((s1 & kLow4) | (s2 >> 2 & kLow2) << 4, r + 64, values);
  scatter4((s0 >> 4 & kLow4) | (s2 >> 4 & kLow2) << 4, r + 128, values);
  scatter4((s1 >> 4 & kLow4) | (s2 >> 6 & kLow2) << 4, r + 192, values);
}

template <void (*kCollect)(const std::byte*, int, SubScales*)>
void move_packed6(const PackTile& tile, ptrdiff_t offset) {
  SubScales values;
  for (int r = 0; r < kGroupRows; ++r) {
    kCollect(tile.rows[r] + offset, r, &values);
  }
  store_packed6(values, tile.out + tile.layout.sub);
}

// One byte per 16-group, kept as it is.
void move_sub_bytes16(const PackTile& tile, ptrdiff_t offset) {
  for (int r = 0; r < kGroupRows; ++r) {
    std::byte* to = tile.out + tile.layout.sub + r;
    for (int g = 0; g < 16; ++g) {
      to[ptrdiff_t{g} * kGroupRows] = tile.rows[r][offset + g];
    }
  }
}

void move_nibbles_k4(const PackTile& tile, ptrdiff_t offset) {
  for (int pair = 0; pair < 4; ++pair) {
    move_nibbles(tile, offset + ptrdiff_t{32} * pair, 2 * pair, 2 * pair + 1);
  }
}

}  // namespace

uint32_t pack_tile_q2_k(const PackTile& tile) {
  move_sub_bytes16(tile, offsetof(BlockQ2_K, scales));
  move_fields2(tile, offsetof(BlockQ2_K, qs), tile.out + tile.layout.codes);
  return move_super<BlockQ2_K>(tile);
}

uint32_t pack_tile_q3_k(const PackTile& tile) {
  move_packed6<collect_k3>(tile, offsetof(BlockQ3_K, scales));
  move_fields2(tile, offsetof(BlockQ3_K, qs), tile.out + tile.layout.codes);
  move_bit_planes(tile, offsetof(BlockQ3_K, hmask));
  return move_super<BlockQ3_K>(tile);
}

uint32_t pack_tile_q4_k(const PackTile& tile) {
  move_packed6<collect_k4>(tile, offsetof(BlockQ4_K, scales));
  move_nibbles_k4(tile, offsetof(BlockQ4_K, qs));
  return move_super<BlockQ4_K>(tile);
}

uint32_t pack_tile_q5_k(const PackTile& tile) {
  move_packed6<collect_k4>(tile, offsetof(BlockQ5_K, scales));
  move_nibbles_k4(tile, offsetof(BlockQ5_K, qs));
  move_bit_planes(tile, offsetof(BlockQ5_K, qh));
  return move_super<BlockQ5_K>(tile);
}

uint32_t pack_tile_q6_k(const PackTile& tile) {
  move_sub_bytes16(tile, offsetof(BlockQ6_K, scales));
  for (int h = 0; h < 2; ++h) {
    for (int j = 0; j < 2; ++j) {  // low halves are block 4h + j, high halves block 4h + j + 2
      move_nibbles(
          tile,
          static_cast<ptrdiff_t>(offsetof(BlockQ6_K, ql)) + ptrdiff_t{64} * h + ptrdiff_t{32} * j,
          4 * h + j, 4 * h + j + 2);
    }
  }
  move_fields2(tile, offsetof(BlockQ6_K, qh), tile.out + tile.layout.high);
  return move_super<BlockQ6_K>(tile);
}

uint32_t pack_tile_iq4_xs(const PackTile& tile) {
  for (int r = 0; r < kGroupRows; ++r) {
    const uint32_t lows = load32(tile.rows[r] + offsetof(BlockIQ4_XS, scales_l));
    const uint32_t highs = load16(tile.rows[r] + offsetof(BlockIQ4_XS, scales_h));
    std::byte* to = tile.out + tile.layout.sub + r;
    for (int b = 0; b < kTileK / kBlockK; ++b) {
      const uint32_t scale = (lows >> (4 * b) & 15U) | (highs >> (2 * b) & 3U) << 4;
      to[ptrdiff_t{b} * kGroupRows] = static_cast<std::byte>(scale);
    }
  }
  for (int b = 0; b < kTileK / kBlockK; ++b) {
    for (int quad = 0; quad < kQuads; ++quad) {
      Words word[4];
      load_turned(tile.rows + ptrdiff_t{quad} * kQuad,
                  static_cast<ptrdiff_t>(offsetof(BlockIQ4_XS, qs)) + ptrdiff_t{16} * b, word);
      for (int v = 0; v < 4; ++v) {
        store_vector(word[v], 4 * b + v, quad, tile.out + tile.layout.codes);
      }
    }
  }
  return move_super<BlockIQ4_XS>(tile);
}

}  // namespace fathom::quant
