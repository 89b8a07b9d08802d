// Packs formats with one scale per 32 values: the file's 4-byte pieces keep their order, so packing
// is moving dwords of 16 rows side by side.
// Called by quant/pack.cc. Read next: quant/pack_tile.h.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "quant/blocks.h"
#include "quant/pack_bits.h"

namespace fathom::quant {

namespace {

// Scales (or minimums) of 16 rows, four to a 64-bit word; returns a bit per row that is not finite.
uint32_t move_scales(const PackTile& tile, ptrdiff_t offset, int b, std::byte* section) {
  constexpr uint64_t kExponents = 0x7c007c007c007c00;
  constexpr uint64_t kOnes = 0x0400040004000400;  // an exponent of all ones carries into the sign
  constexpr uint64_t kSigns = 0x8000800080008000;
  std::byte* const out = section + ptrdiff_t{b} * kGroupRows * 2;
  uint64_t bad[4];
  for (int quad = 0; quad < 4; ++quad) {
    const std::byte* const* rows = tile.rows + ptrdiff_t{quad} * 4;
    const uint64_t word =
        uint64_t{load16(rows[0] + offset)} | uint64_t{load16(rows[1] + offset)} << 16 |
        uint64_t{load16(rows[2] + offset)} << 32 | uint64_t{load16(rows[3] + offset)} << 48;
    std::memcpy(out + ptrdiff_t{quad} * 8, &word, sizeof word);
    bad[quad] = ((word & kExponents) + kOnes) & kSigns;
  }
  uint32_t bad_rows = 0;
  if ((bad[0] | bad[1] | bad[2] | bad[3]) != 0) {
    for (int r = 0; r < kGroupRows; ++r) {
      bad_rows |= static_cast<uint32_t>(bad[r / 4] >> (16 * (r % 4) + 15) & 1) << r;
    }
  }
  return bad_rows;
}

template <typename Block>
concept HasMin = requires(Block block) {
  block.m;
};

template <typename Block>
concept HasHigh = requires(Block block) {
  block.qh;
};

template <typename Block>
uint32_t pack_tile(const PackTile& tile) {
  constexpr bool kIsBytes = sizeof(Block::qs) == kBlockK;
  uint32_t bad_rows = 0;
  for (int b = 0; b < tile.n_blocks; ++b) {
    const auto at = static_cast<ptrdiff_t>(sizeof(Block)) * b;
    bad_rows |= move_scales(tile, at + offsetof(Block, d), b, tile.out + tile.layout.scales);
    if constexpr (HasMin<Block>) {
      bad_rows |= move_scales(tile, at + offsetof(Block, m), b, tile.out + tile.layout.mins);
    }
    if constexpr (HasHigh<Block>) {
      uint32_t bits[kGroupRows];
      for (int r = 0; r < kGroupRows; ++r) {
        bits[r] = load32(tile.rows[r] + at + offsetof(Block, qh));
      }
      store_masks(bits, tile.out + tile.layout.high + b * kVectorBytes);
    }
    move_codes<kIsBytes ? 8 : 4, kIsBytes ? 0x80808080U : 0U>(tile, at + offsetof(Block, qs), b);
  }
  return bad_rows;
}

}  // namespace

uint32_t pack_tile_q4_0(const PackTile& tile) {
  return pack_tile<BlockQ4_0>(tile);
}

uint32_t pack_tile_q4_1(const PackTile& tile) {
  return pack_tile<BlockQ4_1>(tile);
}

uint32_t pack_tile_q5_0(const PackTile& tile) {
  return pack_tile<BlockQ5_0>(tile);
}

uint32_t pack_tile_q5_1(const PackTile& tile) {
  return pack_tile<BlockQ5_1>(tile);
}

uint32_t pack_tile_q8_0(const PackTile& tile) {
  return pack_tile<BlockQ8_0>(tile);
}

}  // namespace fathom::quant
