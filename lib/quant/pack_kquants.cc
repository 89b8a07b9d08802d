// Packs formats with sub-scales inside blocks of 256: nibbles and fields change partners,
// sub-scales are collected over 16 rows. Called by quant/pack.cc. Read next: quant/pack_tile.h,
// quant/blocks.h.
#include "quant/blocks.h"
#include "quant/pack_tile.h"

namespace fathom::quant {

namespace {

constexpr uint32_t kLow2 = 0x03030303U;
constexpr uint32_t kLow6 = 0x3F3F3F3FU;

template <typename Block>
Block load_block(const std::byte* from) {
  Block block;
  std::memcpy(&block, from, sizeof block);
  return block;
}

// d and, where the format has one, dmin; returns the not-finite flag.
template <typename Block>
uint32_t store_super(const Block& block, const PackTile& tile, int r) {
  store16(tile.out + tile.layout.scales + r * 2, block.d);
  uint32_t bad = f16_not_finite(block.d);
  if constexpr (requires { block.dmin; }) {
    store16(tile.out + tile.layout.mins + r * 2, block.dmin);
    bad |= f16_not_finite(block.dmin);
  }
  return bad;
}

// The 256 values of packed6 in their order, before packing.
using SubScales = uint8_t[256];

void store_packed6(const SubScales& values, std::byte* section) {
  for (int part = 0; part < 3; ++part) {
    for (int o = 0; o < 64; o += 4) {
      const uint32_t low = load32(values + 64 * part + o);
      const uint32_t high = load32(values + 192 + o) >> (2 * part) & kLow2;
      store32(section + 64 * part + o, low | high << 6);
    }
  }
}

// Byte i of `four` goes to values[first + i * 16].
void scatter4(uint32_t four, int first, SubScales* values) {
  for (int i = 0; i < 4; ++i) {
    (*values)[first + i * kGroupRows] = static_cast<uint8_t>(four >> (8 * i));
  }
}

// The 12 bytes of Q4_K and Q5_K: eight scales at 16 b + r, eight minimums at 128 + 16 b + r.
void collect_k4(const uint8_t* scales, int r, SubScales* values) {
  const uint32_t s0 = load32(scales);
  const uint32_t s1 = load32(scales + 4);
  const uint32_t s2 = load32(scales + 8);
  scatter4(s0 & kLow6, r, values);
  scatter4((s2 & kLow4) | (s0 >> 6 & kLow2) << 4, r + 64, values);
  scatter4(s1 & kLow6, 128 + r, values);
  scatter4((s2 >> 4 & kLow4) | (s1 >> 6 & kLow2) << 4, 128 + r + 64, values);
}

// The 12 bytes of Q3_K: sixteen scales at 16 g + r.
void collect_k3(const uint8_t* scales, int r, SubScales* values) {
  const uint32_t s0 = load32(scales);
  const uint32_t s1 = load32(scales + 4);
  const uint32_t s2 = load32(scales + 8);
  scatter4((s0 & kLow4) | (s2 & kLow2) << 4, r, values);
  scatter4((s1 & kLow4) | (s2 >> 2 & kLow2) << 4, r + 64, values);
  scatter4((s0 >> 4 & kLow4) | (s2 >> 4 & kLow2) << 4, r + 128, values);
  scatter4((s1 >> 4 & kLow4) | (s2 >> 6 & kLow2) << 4, r + 192, values);
}

// One byte per 16-group, kept as it is.
void store_sub_bytes16(const void* scales, int r, std::byte* section) {
  const auto* from = static_cast<const std::byte*>(scales);
  for (int g = 0; g < 16; ++g) {
    section[g * kGroupRows + r] = from[g];
  }
}

void store_nibbles_k4(const uint8_t* qs, int r, std::byte* section) {
  for (int pair = 0; pair < 4; ++pair) {
    store_nibbles(qs + 32 * pair, 2 * pair, 2 * pair + 1, r, section);
  }
}

// Runs `pack_row(block, r)` for every present row of a tile; returns the rows whose flag was set.
template <typename Block, typename PackRow>
uint32_t for_each_row(const PackTile& tile, const PackRow& pack_row) {
  uint32_t bad_rows = 0;
  for (int r = 0; r < kGroupRows; ++r) {
    if (tile.rows[r] == nullptr) {
      continue;
    }
    const auto block = load_block<Block>(tile.rows[r]);
    const uint32_t bad = store_super(block, tile, r);
    pack_row(block, r);
    bad_rows |= (bad != 0 ? 1U : 0U) << r;
  }
  return bad_rows;
}

}  // namespace

uint32_t pack_tile_q2_k(const PackTile& tile) {
  return for_each_row<BlockQ2_K>(tile, [&](const BlockQ2_K& block, int r) {
    store_sub_bytes16(block.scales, r, tile.out + tile.layout.sub);
    store_codes2(block.qs, r, tile.out + tile.layout.codes);
  });
}

uint32_t pack_tile_q3_k(const PackTile& tile) {
  SubScales values = {};
  HighBits high = {};
  const uint32_t bad_rows = for_each_row<BlockQ3_K>(tile, [&](const BlockQ3_K& block, int r) {
    collect_k3(block.scales, r, &values);
    transpose_bits(block.hmask, high[r]);
    store_codes2(block.qs, r, tile.out + tile.layout.codes);
  });
  store_packed6(values, tile.out + tile.layout.sub);
  store_high1(high, tile.n_blocks, tile.out + tile.layout.high);
  return bad_rows;
}

uint32_t pack_tile_q4_k(const PackTile& tile) {
  SubScales values = {};
  const uint32_t bad_rows = for_each_row<BlockQ4_K>(tile, [&](const BlockQ4_K& block, int r) {
    collect_k4(block.scales, r, &values);
    store_nibbles_k4(block.qs, r, tile.out + tile.layout.codes);
  });
  store_packed6(values, tile.out + tile.layout.sub);
  return bad_rows;
}

uint32_t pack_tile_q5_k(const PackTile& tile) {
  SubScales values = {};
  HighBits high = {};
  const uint32_t bad_rows = for_each_row<BlockQ5_K>(tile, [&](const BlockQ5_K& block, int r) {
    collect_k4(block.scales, r, &values);
    transpose_bits(block.qh, high[r]);
    store_nibbles_k4(block.qs, r, tile.out + tile.layout.codes);
  });
  store_packed6(values, tile.out + tile.layout.sub);
  store_high1(high, tile.n_blocks, tile.out + tile.layout.high);
  return bad_rows;
}

uint32_t pack_tile_q6_k(const PackTile& tile) {
  return for_each_row<BlockQ6_K>(tile, [&](const BlockQ6_K& block, int r) {
    store_sub_bytes16(block.scales, r, tile.out + tile.layout.sub);
    store_codes2(block.qh, r, tile.out + tile.layout.high);
    for (int h = 0; h < 2; ++h) {
      for (int j = 0; j < 2; ++j) {  // low halves are block 4h + j, high halves block 4h + j + 2
        store_nibbles(block.ql + 64 * h + 32 * j, 4 * h + j, 4 * h + j + 2, r,
                      tile.out + tile.layout.codes);
      }
    }
  });
}

uint32_t pack_tile_iq4_xs(const PackTile& tile) {
  return for_each_row<BlockIQ4_XS>(tile, [&](const BlockIQ4_XS& block, int r) {
    std::byte* sub = tile.out + tile.layout.sub + r;
    for (int b = 0; b < kTileK / kBlockK; ++b) {
      const int low = block.scales_l[b / 2] >> (4 * (b % 2)) & 15;
      const int high = block.scales_h >> (2 * b) & 3;
      sub[b * kGroupRows] = static_cast<std::byte>(low | high << 4);
      std::byte* to = tile.out + tile.layout.codes + b * 4 * kVectorBytes + r * 4;
      for (int v = 0; v < 4; ++v) {
        store32(to + v * kVectorBytes, load32(block.qs + 16 * b + 4 * v));
      }
    }
  });
}

}  // namespace fathom::quant
