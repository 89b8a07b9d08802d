// Packs plain floats: BF16 as pairs of k, F16 rounded to BF16, F32 by columns.
// Called by quant/pack.cc. Read next: base/half.h, quant/pack.cc.
#include <bit>

#include "base/half.h"
#include "quant/pack_tile.h"

namespace fathom::quant {

namespace {

// Thirty-two 16-bit values; loops over them have no branches so that compilers turn them into
// lanes.
using Halves = uint16_t[kBlockK];

constexpr uint32_t kBf16TinyBits = std::bit_cast<uint32_t>(kBf16Tiny) >> 16;

// Non-zero when a value is Inf or NaN; magnitudes below 2^-50 become +0.
uint32_t flush_bf16(Halves* block) {
  uint32_t largest = 0;
  for (uint16_t& value : *block) {
    const uint32_t magnitude = value & 0x7FFFU;
    largest = magnitude > largest ? magnitude : largest;
    value = magnitude < kBf16TinyBits ? uint16_t{0} : value;
  }
  return largest >= 0x7F80U ? 1U : 0U;
}

// f16 to bf16, to nearest even. Multiplying by 2^112 makes the f16 exponent an f32 exponent, also
// for subnormals; Inf and NaN are reported and their result does not matter.
uint32_t round_f16(Halves* block) {
  uint32_t largest = 0;
  for (uint16_t& value : *block) {
    const uint32_t magnitude = value & 0x7FFFU;
    largest = magnitude > largest ? magnitude : largest;
    const float wide = std::bit_cast<float>(magnitude << 13) * 0x1p112F;
    const uint32_t bits = std::bit_cast<uint32_t>(wide);
    const uint32_t rounded = (bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16;
    const uint32_t sign = magnitude == 0 ? 0U : value & 0x8000U;  // zeros are +0
    value = static_cast<uint16_t>(rounded | sign);
  }
  return largest >= 0x7C00U ? 1U : 0U;
}

template <uint32_t (*kConvert)(Halves*)>
uint32_t pack_halves(const PackTile& tile) {
  uint32_t bad_rows = 0;
  for (int r = 0; r < kGroupRows; ++r) {
    if (tile.rows[r] == nullptr) {
      continue;
    }
    uint32_t bad = 0;
    for (int b = 0; b < tile.n_blocks; ++b) {
      Halves block;
      std::memcpy(block, tile.rows[r] + b * static_cast<ptrdiff_t>(sizeof block), sizeof block);
      bad |= kConvert(&block);
      std::byte* to = tile.out + b * (kBlockK / 2) * kVectorBytes + r * 4;
      for (int pair = 0; pair < kBlockK / 2; ++pair) {
        store32(to + pair * kVectorBytes, load32(block + 2 * pair));
      }
    }
    bad_rows |= (bad != 0 ? 1U : 0U) << r;
  }
  return bad_rows;
}

}  // namespace

uint32_t pack_tile_bf16(const PackTile& tile) {
  return pack_halves<flush_bf16>(tile);
}

uint32_t pack_tile_f16_as_bf16(const PackTile& tile) {
  return pack_halves<round_f16>(tile);
}

uint32_t pack_tile_f32(const PackTile& tile) {
  uint32_t bad_rows = 0;
  for (int r = 0; r < kGroupRows; ++r) {
    if (tile.rows[r] == nullptr) {
      continue;
    }
    uint32_t bad = 0;
    std::byte* to = tile.out + r * 4;
    for (int k = 0; k < tile.n_blocks * kBlockK; ++k) {
      const uint32_t bits = load32(tile.rows[r] + static_cast<ptrdiff_t>(k) * 4);
      bad |= (bits & 0x7F800000U) + 0x00800000U;  // bit 31: exponent 255
      store32(to + k * kVectorBytes, bits);
    }
    bad_rows |= (bad >> 31) << r;
  }
  return bad_rows;
}

}  // namespace fathom::quant
