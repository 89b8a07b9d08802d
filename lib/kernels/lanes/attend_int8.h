// int8 pages: codes of four dims (K) or four tokens (V) in a 32-bit word, widened to f32; the bytes
// of one token written. Called by lanes/attend.h, lanes/pages.h. Read next: base/paged_view.h.
//
// Four vectors of f32 from one of words: 7 shifts and 4 conversions for 64 values.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/paged_view.h"
#include "kernels/lanes/rows.h"

namespace fathom::kernels {
namespace {

// Words [n_quads] of 16 lanes, `stride` bytes apart, to f32 [4 * n_quads][16], `step` floats apart.
template <class L>
[[gnu::always_inline]] inline void widen_quads(const std::byte* words, int n_quads, int64_t stride,
                                               float* out, int step) {
  for (int i = 0; i < n_quads; ++i) {
    const auto word = L::load_int(words + i * stride);
    L::store(out, L::to_float(L::template sar<24>(L::template shl<24>(word))));
    L::store(out + step, L::to_float(L::template sar<24>(L::template shl<16>(word))));
    L::store(out + 2 * step, L::to_float(L::template sar<24>(L::template shl<8>(word))));
    L::store(out + 3 * step, L::to_float(L::template sar<24>(word)));
    out += 4 * step;
  }
}

// The scale of x [n]: amax / 127, 0 where amax < 2^-100, NaN where it is none; `inverse` 127 /
// amax, or 0.
template <class L>
inline float int8_scale(const float* x, int n, float* inverse) {
  constexpr uint32_t kInf = 0x7F800000U;
  constexpr uint32_t kSmallest = 27U << 23;  // 2^-100
  const auto magnitude_mask = L::set1_int(INT32_MAX);
  auto largest = L::set1_int(0);
  for_lanes<L>(n, [&](int64_t d, int m) {
    largest = L::max_unsigned(largest, L::and_int(L::bits(load_some<L>(x + d, m)), magnitude_mask));
  });
  const uint32_t bits = L::lane_max_unsigned(largest);
  *inverse = 0.0F;
  if (bits >= kInf) {
    return __builtin_nanf("");
  }
  if (bits < kSmallest) {
    return 0.0F;
  }
  float amax;
  __builtin_memcpy(&amax, &bits, sizeof amax);
  *inverse = 127.0F / amax;
  return amax / 127.0F;
}

// Codes of x [dim] for a token: element d at page + place(d), padded dims +0; and the scale.
template <class L, class Place>
[[gnu::always_inline]] inline void write_int8(const float* x, int dim, int slot, std::byte* page,
                                              Place place) {
  const int dims = padded_dims(PageType::kInt8, dim);
  float inverse;
  const float scale = int8_scale<L>(x, dim, &inverse);
  alignas(64) int32_t codes[16] = {};
  for (int d = 0; d < dims; d += 16) {
    if (inverse != 0.0F) {
      const int n = dim - d < 16 ? dim - d : 16;
      L::store_int(codes, L::to_int(L::mul(load_some<L>(x + d, n), L::set1(inverse))));
    }
    for (int i = 0; i < 16 && d + i < dims; ++i) {
      page[place(d + i)] = static_cast<std::byte>(codes[i]);
    }
  }
  const int64_t scales = static_cast<int64_t>(dims) * kPageTokens;
  __builtin_memcpy(page + scales + static_cast<int64_t>(slot) * 4, &scale, sizeof scale);
}

// K [4][dims / 4][16 tokens][4].
template <class L>
void write_k_int8(const float* x, int head_dim, int slot, std::byte* page) noexcept {
  const int64_t tile =
      slot / 16 * static_cast<int64_t>(padded_dims(PageType::kInt8, head_dim)) * 16;
  write_int8<L>(x, head_dim, slot, page, [&](int d) {
    return tile + static_cast<int64_t>(d) / 4 * 64 + slot % 16 * 4 + d % 4;
  });
}

// V [16][dims][4 tokens].
template <class L>
void write_v_int8(const float* x, int value_dim, int slot, std::byte* page) noexcept {
  const int64_t quad = slot / 4 * static_cast<int64_t>(padded_dims(PageType::kInt8, value_dim)) * 4;
  write_int8<L>(x, value_dim, slot, page,
                [&](int d) { return quad + static_cast<int64_t>(d) * 4 + slot % 4; });
}

}  // namespace
}  // namespace fathom::kernels
