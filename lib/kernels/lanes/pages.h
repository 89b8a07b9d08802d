// K and V of one token into a page, and the joining of spans, in 16 lanes.
// Called by the attend.cc of each set. Read next: base/paged_view.h (page layout),
// kernels/scalar/attend.cc.
#pragma once

#include <cstdint>

#include "kernels/lanes/attend.h"
#include "kernels/lanes/rows.h"

namespace fathom::kernels {
namespace {

// bf16 bits of x[d .. d + 15] in the upper halves, +0 beyond head_dim.
template <class L>
inline void round_to_halves(const float* x, int head_dim, int d, uint32_t (&halves)[16]) {
  const int n = head_dim - d < 16 ? head_dim - d : 16;
  L::store_int(halves, L::bits(round_bf16_lanes<L>(load_some<L>(x + d, n))));
}

// K bf16 [4][dims / 2][16 tokens][2]: one 32-bit word per pair of dims.
template <class L>
void write_k_bf16(const float* x, int head_dim, int slot, std::byte* page) noexcept {
  const int n_pairs = (head_dim + 1) / 2;
  std::byte* const out = page + (static_cast<int64_t>(slot / 16) * n_pairs * 16 + slot % 16) * 4;
  alignas(64) uint32_t halves[16];
  for (int d = 0; d < head_dim; d += 16) {
    round_to_halves<L>(x, head_dim, d, halves);
    for (int i = 0; i < 16 && d + i < head_dim; i += 2) {
      const uint32_t word = halves[i] >> 16 | halves[i + 1];
      __builtin_memcpy(out + static_cast<int64_t>(d + i) / 2 * 64, &word, sizeof word);
    }
  }
}

// V bf16 [32][dims][2 tokens]: the other token's half of a word may be another thread's, so stores
// are 16 bits wide.
template <class L>
void write_v_bf16(const float* x, int head_dim, int slot, std::byte* page) noexcept {
  const int dims = head_dim + head_dim % 2;
  std::byte* const out = page + (static_cast<int64_t>(slot / 2) * dims * 2 + slot % 2) * 2;
  alignas(64) uint32_t halves[16];
  for (int d = 0; d < head_dim; d += 16) {
    round_to_halves<L>(x, head_dim, d, halves);
    for (int i = 0; i < 16 && d + i < dims; ++i) {
      const auto half = static_cast<uint16_t>(halves[i] >> 16);
      __builtin_memcpy(out + static_cast<int64_t>(d + i) * 4, &half, sizeof half);
    }
  }
}

// K f32 [4][head_dim][16 tokens].
inline void write_k_f32(const float* x, int head_dim, int slot, std::byte* page) noexcept {
  std::byte* const out = page + (static_cast<int64_t>(slot / 16) * head_dim * 16 + slot % 16) * 4;
  for (int d = 0; d < head_dim; ++d) {
    __builtin_memcpy(out + static_cast<int64_t>(d) * 64, x + d, sizeof(float));
  }
}

// V f32 [64][head_dim].
template <class L>
void write_v_f32(const float* x, int head_dim, int slot, std::byte* page) noexcept {
  auto* const out = reinterpret_cast<float*>(page) + static_cast<int64_t>(slot) * head_dim;
  for_lanes<L>(head_dim,
               [&](int64_t d, int n) { store_some<L>(out + d, load_some<L>(x + d, n), n); });
}

template <class L>
void merge_span(float* m, float* l, float* o, const float* m2, const float* l2, const float* o2,
                int head_dim) noexcept {
  const float largest = *m2 > *m ? *m2 : *m;
  const auto a = exp_lanes<L>(L::set1(*m - largest));
  const auto b = exp_lanes<L>(L::set1(*m2 - largest));
  *m = largest;
  *l = *l * L::lane0(a) + *l2 * L::lane0(b);
  for_lanes<L>(head_dim, [&](int64_t d, int n) {
    const auto first = L::mul(load_some<L>(o + d, n), a);
    store_some<L>(o + d, L::add(first, L::mul(load_some<L>(o2 + d, n), b)), n);
  });
}

template <class L>
void finish_attend(float* o, float l, int head_dim) noexcept {
  for_lanes<L>(head_dim, [&](int64_t d, int n) {
    store_some<L>(o + d, L::div(load_some<L>(o + d, n), L::set1(l)), n);
  });
}

template <class L>
void fill_attend(KernelTable& table) {
  constexpr int kBf16 = static_cast<int>(PageType::kBF16);
  constexpr int kF32 = static_cast<int>(PageType::kF32);
  constexpr int kInt8 = static_cast<int>(PageType::kInt8);
  table.write_k[kBf16] = write_k_bf16<L>;
  table.write_v[kBf16] = write_v_bf16<L>;
  table.write_k[kF32] = write_k_f32;
  table.write_v[kF32] = write_v_f32<L>;
  table.write_k[kInt8] = write_k_int8<L>;
  table.write_v[kInt8] = write_v_int8<L>;
  table.attend_span[kBf16] = attend_span<L, PageType::kBF16>;
  table.attend_span[kF32] = attend_span<L, PageType::kF32>;
  table.attend_span[kInt8] = attend_span<L, PageType::kInt8>;
  table.merge_span = merge_span<L>;
  table.finish_attend = finish_attend<L>;
}

}  // namespace
}  // namespace fathom::kernels
