// Row-wise kernels: quantize activations, norms, gates, sums, rotation.
// Called through KernelTable. Read next: scalar/math.cc, docs/numbers.md ("Rows").
#include <bit>
#include <cmath>
#include <cstring>

#include "base/half.h"
#include "kernels/math_constants.h"
#include "kernels/scalar/fill.h"
#include "kernels/scalar/math.h"
#include "quant/packed.h"

namespace fathom::kernels::scalar {

namespace {

using quant::kBlockK;

constexpr uint32_t kMagnitude = 0x7FFFFFFFU;
constexpr uint32_t kInfBits = 0x7F800000U;
constexpr auto kSmallestAmax = std::bit_cast<uint32_t>(0x1p-100F);  // a block below it is zero

// The largest |x| of a block as bits: unsigned integers order like magnitudes, NaN above Inf.
uint32_t amax_bits(const float* x, int n) {
  uint32_t largest = 0;
  for (int k = 0; k < n; ++k) {
    const uint32_t bits = std::bit_cast<uint32_t>(x[k]) & kMagnitude;
    largest = bits > largest ? bits : largest;
  }
  return largest;
}

// n <= 32 values to 32 codes; the rest are zero. False for Inf or NaN.
bool quantize_block(const float* x, int n, const QuantizeArgs& args, int64_t slot) {
  const uint32_t amax = amax_bits(x, n);
  int8_t* q = args.q + slot * kBlockK;
  std::memset(q, 0, kBlockK);
  float d = 0.0F;
  int32_t half_sums[2] = {0, 0};
  if (amax < kInfBits && amax >= kSmallestAmax) {
    d = std::bit_cast<float>(amax) / 127.0F;
    const float inverse = 127.0F / std::bit_cast<float>(amax);
    for (int k = 0; k < n; ++k) {
      // Adding 1.5 * 2^23 rounds to an integer, ties to even; |x * inverse| < 127.5.
      const float rounded = (x[k] * inverse + kRoundMagic) - kRoundMagic;
      const auto code = static_cast<int32_t>(rounded);
      q[k] = static_cast<int8_t>(code);
      half_sums[k / 16] += code;
    }
  }
  const int32_t sum = half_sums[0] + half_sums[1];
  args.d[slot] = d;
  args.ds[slot] = d * static_cast<float>(sum);
  args.sums[slot] = sum;
  args.half_sums[slot * 2] = half_sums[0];
  args.half_sums[slot * 2 + 1] = half_sums[1];
  return amax < kInfBits;
}

bool quantize_row(const QuantizeArgs& args) noexcept {
  bool is_finite = true;
  for (int64_t k = 0; k < args.n; k += kBlockK) {
    const int64_t left = args.n - k;
    const int64_t slot = (args.first_block + k / kBlockK) * args.n_rows + args.row;
    const int n = left < kBlockK ? static_cast<int>(left) : kBlockK;
    is_finite = quantize_block(args.x + k, n, args, slot) && is_finite;
  }
  return is_finite;
}

// Places x[k] in its block; the last block is padded with +0. `halves`: of values that are bf16.
template <float (*kConvert)(float)>
void place_row(const FloatRowArgs& args) noexcept {
  const int64_t n_padded = (args.n + kBlockK - 1) / kBlockK * kBlockK;
  for (int64_t k = 0; k < n_padded; ++k) {
    const int64_t slot = (args.first_block + k / kBlockK) * args.n_rows + args.row;
    const float placed = k < args.n ? kConvert(args.x[k]) : 0.0F;
    args.out[slot * kBlockK + k % kBlockK] = placed;
    if (args.halves != nullptr) {
      args.halves[slot * kBlockK + k % kBlockK] = f32_to_bf16(placed);
    }
  }
}

float round_bf16(float x) {
  return round_to_bf16_operand(x);
}

float keep(float x) {
  return x;
}

// Sixteen partial sums joined in a fixed tree: i with i + 8, then + 4, + 2, + 1.
float tree_sum(float (&lane)[16]) {
  for (int width = 8; width >= 1; width /= 2) {
    for (int i = 0; i < width; ++i) {
      lane[i] = lane[i] + lane[i + width];
    }
  }
  return lane[0];
}

void rms_norm(const float* x, const float* w, int64_t n, float eps, float* y) noexcept {
  float lane[16] = {};
  for (int64_t k = 0; k < n; ++k) {
    lane[k % 16] = std::fma(x[k], x[k], lane[k % 16]);
  }
  const float mean = tree_sum(lane) / static_cast<float>(n);
  const float r = 1.0F / std::sqrt(mean + eps);
  for (int64_t k = 0; k < n; ++k) {
    y[k] = (x[k] * r) * w[k];
  }
}

float lane_sum(const float* x, int64_t n) {
  float lane[16] = {};
  for (int64_t k = 0; k < n; ++k) {
    lane[k % 16] = lane[k % 16] + x[k];
  }
  return tree_sum(lane);
}

float lane_sum_of_squares(const float* x, int64_t n, float mean) {
  float lane[16] = {};
  for (int64_t k = 0; k < n; ++k) {
    const float centred = x[k] - mean;
    lane[k % 16] = std::fma(centred, centred, lane[k % 16]);
  }
  return tree_sum(lane);
}

void layer_norm(const float* x, const float* w, const float* b, int64_t n, float eps,
                float* y) noexcept {
  const float mean = lane_sum(x, n) / static_cast<float>(n);
  const float variance = lane_sum_of_squares(x, n, mean) / static_cast<float>(n);
  const float r = 1.0F / std::sqrt(variance + eps);
  for (int64_t k = 0; k < n; ++k) {
    float value = (x[k] - mean) * r;
    value = w != nullptr ? value * w[k] : value;
    y[k] = b != nullptr ? value + b[k] : value;
  }
}

template <Activation kActivation>
void gated(const float* gate, const float* up, int64_t n, float* y) noexcept {
  for (int64_t k = 0; k < n; ++k) {
    y[k] = activate(kActivation, gate[k]) * up[k];
  }
}

template <Activation kActivation>
void activate_row(const float* x, int64_t n, float* y) noexcept {
  for (int64_t k = 0; k < n; ++k) {
    y[k] = activate(kActivation, x[k]);
  }
}

// At most `limit`; NaN stays.
float at_most(float limit, float x) {
  return limit < x ? limit : x;
}

float clamp_value(float x, float limit) {
  return at_most(limit, x < -limit ? -limit : x);
}

void clamped_swiglu(const float* gate, const float* up, int64_t n, float limit, float* y) noexcept {
  for (int64_t k = 0; k < n; ++k) {
    const float glu = activate(Activation::kQuickGelu, at_most(limit, gate[k]));
    y[k] = (clamp_value(up[k], limit) + 1.0F) * glu;
  }
}

void add(const float* a, const float* b, int64_t n, float* y) noexcept {
  for (int64_t k = 0; k < n; ++k) {
    y[k] = a[k] + b[k];
  }
}

void scale(const float* x, float factor, int64_t n, float* y) noexcept {
  for (int64_t k = 0; k < n; ++k) {
    y[k] = x[k] * factor;
  }
}

void add_scaled(const float* y, float factor, int64_t n, float* x) noexcept {
  for (int64_t k = 0; k < n; ++k) {
    const float scaled = y[k] * factor;
    x[k] = x[k] + scaled;
  }
}

void clamp(float* x, int64_t n, float limit) noexcept {
  for (int64_t k = 0; k < n; ++k) {
    x[k] = clamp_value(x[k], limit);
  }
}

void soft_cap(float* x, int64_t n, float cap) noexcept {
  for (int64_t k = 0; k < n; ++k) {
    x[k] = cap * tanh_f32(x[k] / cap);
  }
}

void rotate(float* first, float* second, float c, float s) {
  const float x1 = *first;
  const float x2 = *second;
  *first = x1 * c - x2 * s;
  *second = x2 * c + x1 * s;
}

void rope_halves(float* x, const float* cos, const float* sin, int64_t n_pairs) noexcept {
  for (int64_t i = 0; i < n_pairs; ++i) {
    rotate(x + i, x + i + n_pairs, cos[i], sin[i]);
  }
}

void rope_pairs(float* x, const float* cos, const float* sin, int64_t n_pairs) noexcept {
  for (int64_t i = 0; i < n_pairs; ++i) {
    rotate(x + 2 * i, x + 2 * i + 1, cos[i], sin[i]);
  }
}

template <Activation kActivation>
void fill_activation(KernelTable* table) {
  table->gated[static_cast<int>(kActivation)] = gated<kActivation>;
  table->activate[static_cast<int>(kActivation)] = activate_row<kActivation>;
}

}  // namespace

void fill_rows(KernelTable* table) {
  table->quantize_row = quantize_row;
  table->round_row_bf16 = place_row<round_bf16>;
  table->copy_row_f32 = place_row<keep>;
  table->rms_norm = rms_norm;
  table->layer_norm = layer_norm;
  fill_activation<Activation::kSilu>(table);
  fill_activation<Activation::kGeluTanh>(table);
  fill_activation<Activation::kGeluErf>(table);
  fill_activation<Activation::kRelu>(table);
  fill_activation<Activation::kRelu2>(table);
  fill_activation<Activation::kQuickGelu>(table);
  table->clamped_swiglu = clamped_swiglu;
  table->add = add;
  table->scale = scale;
  table->add_scaled = add_scaled;
  table->clamp = clamp;
  table->soft_cap = soft_cap;
  table->rope[static_cast<int>(RopeStyle::kHalves)] = rope_halves;
  table->rope[static_cast<int>(RopeStyle::kPairs)] = rope_pairs;
}

}  // namespace fathom::kernels::scalar
