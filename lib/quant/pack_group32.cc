// Packs formats whose 32 values have an E8M0 or f32 scale: MXFP4 and the groups of GPTQ and its
// kin. Called by quant/pack.cc. Read next: quant/pack_bits.h.
#include <cstddef>
#include <cstdint>

#include "quant/blocks.h"
#include "quant/pack_bits.h"
#include "quant/small_floats.h"

namespace fathom::quant {

namespace {

// Bit 0: the f32 is Inf or NaN.
uint32_t f32_not_finite(uint32_t bits) {
  return ((bits & 0x7F800000U) + 0x00800000U) >> 31;
}

template <typename Block>
uint32_t pack_tile_grouped(const PackTile& tile) {
  constexpr bool kIsBytes = sizeof(Block::qs) == kBlockK;
  std::byte* const scales = tile.out + tile.layout.scales;
  std::byte* const zeros = tile.out + tile.layout.zeros;
  uint32_t bad_rows = 0;
  for (int b = 0; b < tile.n_blocks; ++b) {
    const auto at = static_cast<ptrdiff_t>(sizeof(Block)) * b;
    for (int r = 0; r < kGroupRows; ++r) {
      const std::byte* block = tile.rows[r] + at;
      const ptrdiff_t to = ptrdiff_t{b} * kGroupRows + r;
      const uint32_t scale = load32(block + offsetof(Block, d));
      store32(scales + to * 4, scale);
      zeros[to] = block[offsetof(Block, zero)];
      bad_rows |= f32_not_finite(scale) << r;
    }
    move_codes<kIsBytes ? 8 : 4, 0>(tile, at + offsetof(Block, qs), b);
  }
  return bad_rows;
}

}  // namespace

uint32_t pack_tile_mxfp4(const PackTile& tile) {
  std::byte* const exponents = tile.out + tile.layout.scales;
  uint32_t bad_rows = 0;
  for (int b = 0; b < tile.n_blocks; ++b) {
    const auto at = static_cast<ptrdiff_t>(sizeof(BlockMXFP4)) * b;
    for (int r = 0; r < kGroupRows; ++r) {
      const std::byte e = tile.rows[r][at + static_cast<ptrdiff_t>(offsetof(BlockMXFP4, e))];
      exponents[ptrdiff_t{b} * kGroupRows + r] = e;
      bad_rows |= (e == std::byte{kE8m0NaN} ? 1U : 0U) << r;
    }
    move_codes<4, 0>(tile, at + static_cast<ptrdiff_t>(offsetof(BlockMXFP4, qs)), b);
  }
  return bad_rows;
}

uint32_t pack_tile_i4_group(const PackTile& tile) {
  return pack_tile_grouped<BlockI4Group>(tile);
}

uint32_t pack_tile_i8_group(const PackTile& tile) {
  return pack_tile_grouped<BlockI8Group>(tile);
}

}  // namespace fathom::quant
