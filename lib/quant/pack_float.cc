// Packs plain floats: BF16 as pairs of k, F16 rounded to BF16, F32 by columns.
// Called by quant/pack.cc. Read next: base/half.h, quant/pack_tile.h.
#include <bit>

#include "base/half.h"
#include "quant/pack_tile.h"

namespace fathom::quant {

namespace {

using Floats [[gnu::vector_size(16)]] = float;

constexpr uint32_t kLowHalf = 0xFFFFU;
constexpr uint32_t kBf16TinyBits = std::bit_cast<uint32_t>(kBf16Tiny) >> 16;
constexpr uint32_t kBf16Inf = 0x7F80U;
constexpr uint32_t kF16Inf = 0x7C00U;

// All ones in lanes where a >= b; both below 2^31.
Words at_least(Words a, uint32_t b) {
  return (a - b) >> 31 ^ 1U;
}

// Each function converts one 16-bit value per lane and sets bit 0 of `bad` where it is Inf or NaN.

// bf16: magnitudes below 2^-50 become +0.
Words flush_bf16(Words half, Words* bad) {
  const Words magnitude = half & 0x7FFFU;
  *bad |= at_least(magnitude, kBf16Inf);
  return half & (Words{} - at_least(magnitude, kBf16TinyBits));
}

// f16 to bf16, to nearest even. Multiplying by 2^112 makes the f16 exponent an f32 exponent, also
// for subnormals; what Inf and NaN give does not matter. The smallest f16 is 2^-24, far above
// 2^-50.
Words round_f16(Words half, Words* bad) {
  const Words magnitude = half & 0x7FFFU;
  *bad |= at_least(magnitude, kF16Inf);
  const auto wide = std::bit_cast<Floats>(magnitude << 13) * 0x1p112F;
  const auto bits = std::bit_cast<Words>(wide);
  const Words rounded = (bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16;
  const Words sign = half & 0x8000U & (Words{} - at_least(magnitude, 1));  // zeros are +0
  return rounded | sign;
}

uint32_t bits_of_rows(const Words (&bad)[kQuads]) {
  uint32_t bad_rows = 0;
  for (int r = 0; r < kGroupRows; ++r) {
    bad_rows |= (bad[r / kQuad][r % kQuad] & 1U) << r;
  }
  return bad_rows;
}

// Converts dword by dword. Four rows at a time run through the whole tile: rows of floats often lie
// a power of two apart, and sixteen such streams would share one set of the first-level cache.
template <Words (*kConvert)(Words, Words*)>
uint32_t pack_dwords(const PackTile& tile, int n_dwords) {
  Words bad[kQuads] = {};
  for (int quad = 0; quad < kQuads; ++quad) {
    for (int at = 0; at < n_dwords; at += 4) {
      Words word[4];
      load_turned(tile.rows + ptrdiff_t{quad} * kQuad, static_cast<ptrdiff_t>(at) * 4, word);
      for (int i = 0; i < 4; ++i) {
        store_vector(kConvert(word[i], &bad[quad]), at + i, quad, tile.out);
      }
    }
  }
  return bits_of_rows(bad);
}

// Two 16-bit values in each dword.
template <Words (*kConvert)(Words, Words*)>
Words convert_pair(Words pair, Words* bad) {
  return kConvert(pair & kLowHalf, bad) | kConvert(pair >> 16, bad) << 16;
}

Words check_f32(Words bits, Words* bad) {
  *bad |= at_least(bits & 0x7FFFFFFFU, 0x7F800000U);
  return bits;
}

// f32 to a bf16 operand, to nearest even; what rounds to Inf is bad as well.
Words round_f32(Words bits, Words* bad) {
  const Words rounded = ((bits & 0x7FFFFFFFU) + 0x7FFFU + (bits >> 16 & 1U)) >> 16;
  // A NaN's fraction may round up into the sign: the magnitude then is 0x8000, still too large.
  *bad |= at_least(rounded, kBf16Inf);
  const Words keep = Words{} - at_least(bits & 0x7FFFFFFFU, std::bit_cast<uint32_t>(kBf16Tiny));
  return (rounded | (bits >> 16 & 0x8000U)) & keep;
}

}  // namespace

uint32_t pack_tile_bf16(const PackTile& tile) {
  return pack_dwords<convert_pair<flush_bf16>>(tile, tile.n_blocks * kBlockK / 2);
}

uint32_t pack_tile_f16_as_bf16(const PackTile& tile) {
  return pack_dwords<convert_pair<round_f16>>(tile, tile.n_blocks * kBlockK / 2);
}

uint32_t pack_tile_f32(const PackTile& tile) {
  return pack_dwords<check_f32>(tile, tile.n_blocks * kBlockK);
}

uint32_t pack_tile_f32_as_bf16(const PackTile& tile) {
  Words bad[kQuads] = {};
  for (int quad = 0; quad < kQuads; ++quad) {
    for (int at = 0; at < tile.n_blocks * kBlockK; at += 4) {
      Words word[4];
      load_turned(tile.rows + ptrdiff_t{quad} * kQuad, static_cast<ptrdiff_t>(at) * 4, word);
      for (int i = 0; i < 4; i += 2) {
        const Words low = round_f32(word[i], &bad[quad]);
        const Words high = round_f32(word[i + 1], &bad[quad]);
        store_vector(low | high << 16, (at + i) / 2, quad, tile.out);
      }
    }
  }
  return bits_of_rows(bad);
}

}  // namespace fathom::quant
