// Row-wise kernels in 16 lanes: quantize activations, norms, gates, sums, rotation.
// Called by the rows.cc of each set. Read next: kernels/scalar/rows.cc, lanes/math.h.
#pragma once

#include <cstdint>

#include "kernels/lanes/math.h"
#include "kernels/table.h"

namespace fathom::kernels {
namespace {

// fn(k, n) for k = 0, 16, .. below n_total; n is 16, or the rest at the end.
template <class L, class Fn>
[[gnu::always_inline]] inline void for_lanes(int64_t n_total, Fn&& fn) {
  int64_t k = 0;
  for (; k + 16 <= n_total; k += 16) {
    fn(k, 16);
  }
  if (k < n_total) {
    fn(k, static_cast<int>(n_total - k));
  }
}

template <class L>
[[gnu::always_inline]] inline typename L::F load_some(const float* p, int n) {
  return n == 16 ? L::load(p) : L::load_n(p, n);
}

template <class L>
[[gnu::always_inline]] inline void store_some(float* p, typename L::F x, int n) {
  if (n == 16) {
    L::store(p, x);
  } else {
    L::store_n(p, x, n);
  }
}

// One 32-block (x0, x1 zero padded). NUMBERS: IEEE division, ties to even.
template <class L>
[[gnu::always_inline]] inline bool quantize_block(typename L::F x0, typename L::F x1,
                                                  const QuantizeArgs& a, int64_t slot) {
  constexpr uint32_t kInf = 0x7F800000U;
  constexpr uint32_t kSmallest = 27U << 23;  // 2^-100
  const auto magnitude_mask = L::set1_int(INT32_MAX);
  const uint32_t bits = L::lane_max_unsigned(L::max_unsigned(
      L::and_int(L::bits(x0), magnitude_mask), L::and_int(L::bits(x1), magnitude_mask)));
  int8_t* const q = a.q + slot * quant::kBlockK;
  int32_t* const half_sums = a.half_sums + 2 * slot;
  if (bits < kSmallest || bits >= kInf) {
    const auto zero = L::set1_int(0);
    L::store_codes(q, zero, zero, half_sums);
    a.d[slot] = 0.0F;
    a.ds[slot] = 0.0F;
    a.sums[slot] = 0;
    return bits < kInf;
  }
  float amax;
  __builtin_memcpy(&amax, &bits, sizeof amax);
  const float d = amax / 127.0F;
  const auto inverse = L::set1(127.0F / amax);
  L::store_codes(q, L::to_int(L::mul(x0, inverse)), L::to_int(L::mul(x1, inverse)), half_sums);
  const int32_t sum = half_sums[0] + half_sums[1];
  a.d[slot] = d;
  a.ds[slot] = d * static_cast<float>(sum);
  a.sums[slot] = sum;
  return true;
}

template <class L>
bool quantize_row(const QuantizeArgs& a) noexcept {
  bool is_finite = true;
  int64_t slot = a.first_block * a.n_rows + a.row;
  int64_t k = 0;
  for (; k + quant::kBlockK <= a.n; k += quant::kBlockK, slot += a.n_rows) {
    is_finite = quantize_block<L>(L::load(a.x + k), L::load(a.x + k + 16), a, slot) && is_finite;
  }
  if (k < a.n) {
    const auto left = static_cast<int>(a.n - k);
    const auto x0 = L::load_n(a.x + k, left < 16 ? left : 16);
    const auto x1 = left > 16 ? L::load_n(a.x + k + 16, left - 16) : L::zero();
    is_finite = quantize_block<L>(x0, x1, a, slot) && is_finite;
  }
  return is_finite;
}

// 16 bf16-rounded values as bf16.
[[gnu::always_inline]] inline void store_halves(const float* from, uint16_t* to) {
  for (int i = 0; i < 16; ++i) {
    uint32_t bits;
    __builtin_memcpy(&bits, from + i, sizeof bits);
    to[i] = static_cast<uint16_t>(bits >> 16);
  }
}

// Places a row block by block, the last zero padded.
template <class L, bool kRound>
void place_row(const FloatRowArgs& a) noexcept {
  float* out = a.out + (a.first_block * a.n_rows + a.row) * quant::kBlockK;
  const int64_t n_padded = (a.n + quant::kBlockK - 1) / quant::kBlockK * quant::kBlockK;
  for (int64_t k = 0; k < n_padded; k += 16) {
    const int64_t left = a.n - k;
    const auto n = static_cast<int>(left > 16 ? 16 : left < 0 ? 0 : left);
    const auto x = n == 0 ? L::zero() : load_some<L>(a.x + k, n);
    const auto placed = kRound ? round_bf16_lanes<L>(x) : x;
    L::store(out + k % quant::kBlockK, placed);
    if (kRound && a.halves != nullptr) {
      store_halves(out + k % quant::kBlockK, a.halves + (out - a.out) + k % quant::kBlockK);
    }
    out += k % quant::kBlockK == 16 ? a.n_rows * quant::kBlockK : 0;
  }
}

template <class L>
void rms_norm(const float* x, const float* w, int64_t n, float eps, float* y) noexcept {
  auto squares = L::zero();
  for_lanes<L>(n, [&](int64_t k, int m) {
    const auto v = load_some<L>(x + k, m);
    squares = L::fma(v, v, squares);
  });
  const float mean = L::tree_sum(squares) / static_cast<float>(n);
  const auto r = L::div(L::set1(1.0F), L::sqrt(L::set1(mean + eps)));
  for_lanes<L>(n, [&](int64_t k, int m) {
    const auto v = L::mul(load_some<L>(x + k, m), r);
    store_some<L>(y + k, L::mul(v, load_some<L>(w + k, m)), m);
  });
}

// Sum over a row of (x - mean)^2; the lanes beyond its end add +0.
template <class L>
[[gnu::always_inline]] inline float centred_squares(const float* x, int64_t n, float mean) {
  auto squares = L::zero();
  for_lanes<L>(n, [&](int64_t k, int m) {
    auto v = L::sub(load_some<L>(x + k, m), L::set1(mean));
    v = m == 16 ? v : L::select(L::between(0, m - 1), v, L::zero());
    squares = L::fma(v, v, squares);
  });
  return L::tree_sum(squares);
}

template <class L>
void layer_norm(const float* x, const float* w, const float* b, int64_t n, float eps,
                float* y) noexcept {
  auto sum = L::zero();
  for_lanes<L>(n, [&](int64_t k, int m) { sum = L::add(sum, load_some<L>(x + k, m)); });
  const float mean = L::tree_sum(sum) / static_cast<float>(n);
  const float variance = centred_squares<L>(x, n, mean) / static_cast<float>(n);
  const auto r = L::div(L::set1(1.0F), L::sqrt(L::set1(variance + eps)));
  for_lanes<L>(n, [&](int64_t k, int m) {
    auto v = L::mul(L::sub(load_some<L>(x + k, m), L::set1(mean)), r);
    v = w != nullptr ? L::mul(v, load_some<L>(w + k, m)) : v;
    v = b != nullptr ? L::add(v, load_some<L>(b + k, m)) : v;
    store_some<L>(y + k, v, m);
  });
}

template <class L, Activation kActivation>
void gated(const float* gate, const float* up, int64_t n, float* y) noexcept {
  for_lanes<L>(n, [&](int64_t k, int m) {
    const auto a = activate_lanes<L, kActivation>(load_some<L>(gate + k, m));
    store_some<L>(y + k, L::mul(a, load_some<L>(up + k, m)), m);
  });
}

template <class L, Activation kActivation>
void activate_row(const float* x, int64_t n, float* y) noexcept {
  for_lanes<L>(n, [&](int64_t k, int m) {
    store_some<L>(y + k, activate_lanes<L, kActivation>(load_some<L>(x + k, m)), m);
  });
}

// At most `limit`; NaN stays.
template <class L>
inline typename L::F at_most(typename L::F limit, typename L::F x) {
  return L::select(L::less(limit, x), limit, x);
}

template <class L>
inline typename L::F clamp_lanes(typename L::F x, float limit) {
  const auto low = L::set1(-limit);
  return at_most<L>(L::set1(limit), L::select(L::less(x, low), low, x));
}

template <class L>
void clamped_swiglu(const float* gate, const float* up, int64_t n, float limit, float* y) noexcept {
  for_lanes<L>(n, [&](int64_t k, int m) {
    const auto g = at_most<L>(L::set1(limit), load_some<L>(gate + k, m));
    const auto glu = activate_lanes<L, Activation::kQuickGelu>(g);
    const auto u = L::add(clamp_lanes<L>(load_some<L>(up + k, m), limit), L::set1(1.0F));
    store_some<L>(y + k, L::mul(u, glu), m);
  });
}

template <class L>
void add(const float* a, const float* b, int64_t n, float* y) noexcept {
  for_lanes<L>(n, [&](int64_t k, int m) {
    store_some<L>(y + k, L::add(load_some<L>(a + k, m), load_some<L>(b + k, m)), m);
  });
}

template <class L>
void scale(const float* x, float factor, int64_t n, float* y) noexcept {
  for_lanes<L>(n, [&](int64_t k, int m) {
    store_some<L>(y + k, L::mul(load_some<L>(x + k, m), L::set1(factor)), m);
  });
}

template <class L>
void add_scaled(const float* y, float factor, int64_t n, float* x) noexcept {
  for_lanes<L>(n, [&](int64_t k, int m) {
    const auto scaled = L::mul(load_some<L>(y + k, m), L::set1(factor));
    store_some<L>(x + k, L::add(load_some<L>(x + k, m), scaled), m);
  });
}

template <class L>
void clamp(float* x, int64_t n, float limit) noexcept {
  for_lanes<L>(n, [&](int64_t k, int m) {
    store_some<L>(x + k, clamp_lanes<L>(load_some<L>(x + k, m), limit), m);
  });
}

template <class L>
void soft_cap(float* x, int64_t n, float cap) noexcept {
  const auto c = L::set1(cap);
  for_lanes<L>(n, [&](int64_t k, int m) {
    store_some<L>(x + k, L::mul(c, tanh_lanes<L>(L::div(load_some<L>(x + k, m), c))), m);
  });
}

template <class L>
void rope_halves(float* x, const float* cos, const float* sin, int64_t n_pairs) noexcept {
  for_lanes<L>(n_pairs, [&](int64_t k, int m) {
    const auto c = load_some<L>(cos + k, m);
    const auto s = load_some<L>(sin + k, m);
    const auto x1 = load_some<L>(x + k, m);
    const auto x2 = load_some<L>(x + n_pairs + k, m);
    store_some<L>(x + k, L::sub(L::mul(x1, c), L::mul(x2, s)), m);
    store_some<L>(x + n_pairs + k, L::add(L::mul(x2, c), L::mul(x1, s)), m);
  });
}

// Eight pairs at a time: x * c + swapped x * (-s, s).
template <class L>
void rope_pairs(float* x, const float* cos, const float* sin, int64_t n_pairs) noexcept {
  alignas(64) static constexpr uint32_t kMinusPlus[16] = {
      0x80000000, 0, 0x80000000, 0, 0x80000000, 0, 0x80000000, 0,
      0x80000000, 0, 0x80000000, 0, 0x80000000, 0, 0x80000000, 0};
  const auto sign = L::load_int(kMinusPlus);
  int64_t i = 0;
  for (; i + 8 <= n_pairs; i += 8) {
    const auto v = L::load(x + 2 * i);
    const auto straight = L::mul(v, L::load_twice(cos + i));
    const auto crossed = L::mul(L::swap_neighbours(v), L::load_twice(sin + i));
    L::store(x + 2 * i, L::add(straight, L::from_bits(L::xor_int(L::bits(crossed), sign))));
  }
  for (; i < n_pairs; ++i) {
    const float x1 = x[2 * i];
    const float x2 = x[2 * i + 1];
    x[2 * i] = x1 * cos[i] - x2 * sin[i];
    x[2 * i + 1] = x2 * cos[i] + x1 * sin[i];
  }
}

template <class L, Activation kActivation>
void fill_activation(KernelTable& table) {
  table.gated[static_cast<int>(kActivation)] = gated<L, kActivation>;
  table.activate[static_cast<int>(kActivation)] = activate_row<L, kActivation>;
}

template <class L>
void fill_rows(KernelTable& table) {
  table.quantize_row = quantize_row<L>;
  table.round_row_bf16 = place_row<L, true>;
  table.copy_row_f32 = place_row<L, false>;
  table.rms_norm = rms_norm<L>;
  table.layer_norm = layer_norm<L>;
  fill_activation<L, Activation::kSilu>(table);
  fill_activation<L, Activation::kGeluTanh>(table);
  fill_activation<L, Activation::kGeluErf>(table);
  fill_activation<L, Activation::kRelu>(table);
  fill_activation<L, Activation::kRelu2>(table);
  fill_activation<L, Activation::kQuickGelu>(table);
  table.clamped_swiglu = clamped_swiglu<L>;
  table.add = add<L>;
  table.scale = scale<L>;
  table.add_scaled = add_scaled<L>;
  table.clamp = clamp<L>;
  table.soft_cap = soft_cap<L>;
  table.rope[static_cast<int>(RopeStyle::kHalves)] = rope_halves<L>;
  table.rope[static_cast<int>(RopeStyle::kPairs)] = rope_pairs<L>;
}

}  // namespace
}  // namespace fathom::kernels
