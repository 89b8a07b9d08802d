// exp, tanh, erf by reduction and polynomial, written so that each line is one lane operation.
// Called by scalar/rows, scalar/attend. Read next: kernels/math_constants.h.
// Every `a ? b : c` here is a select: both sides may be computed, nothing else depends on the
// branch.
#include "kernels/scalar/math.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/math_constants.h"

namespace fathom::kernels::scalar {

namespace {

// c[0] + x * (c[1] + x * (...)), one fma a step, from the highest coefficient down.
template <int kCount>
float horner(const float (&c)[kCount], float x) {
  float sum = c[kCount - 1];
  for (int i = kCount - 2; i >= 0; --i) {
    sum = std::fma(sum, x, c[i]);
  }
  return sum;
}

}  // namespace

float exp_f32(float x) noexcept {
  // The fma rounds x log2 e to an integer in the low bits of `shifted`.
  const float shifted = std::fma(x, kLog2E, kRoundMagic);
  const float n = shifted - kRoundMagic;
  const float r = std::fma(n, -kLn2Low, std::fma(n, -kLn2High, x));
  const float p = std::fma(std::fma(horner(kExpC, r), r, 1.0F), r, 1.0F);
  // p * 2^n by adding n to the exponent field: the shift drops all of kRoundMagic's own bits.
  const uint32_t bits = std::bit_cast<uint32_t>(p) + (std::bit_cast<uint32_t>(shifted) << 23);
  float y = std::bit_cast<float>(bits);
  y = x < kExpMin ? 0.0F : y;
  y = x > kExpMax ? std::bit_cast<float>(0x7F800000U) : y;
  return x != x ? x : y;
}

float tanh_f32(float x) noexcept {
  const float a = std::fabs(x);
  const float z = a * a;
  const float small = std::fma(a, z * horner(kTanhC, z), a);
  const float large = 1.0F - 2.0F / (exp_f32(a + a) + 1.0F);
  return std::copysign(a < kTanhSmall ? small : large, x);
}

float erf_f32(float x) noexcept {
  const float a = std::fabs(x);
  const float small = std::fma(a, horner(kErfSmallC, a * a), a);
  const float t = a > kErfEnd ? kErfEnd : a;
  const float large = 1.0F - exp_f32(-std::fma(t, horner(kErfLargeC, t), t));
  return std::copysign(a < kErfSmall ? small : large, x);
}

float activate(Activation activation, float x) noexcept {
  switch (activation) {
    case Activation::kSilu:
      return x / (1.0F + exp_f32(-x));
    case Activation::kGeluTanh:
      // 0.5 x (1 + tanh u) = x / (1 + exp(-2u)): no cancellation for negative x.
      return x / (1.0F + exp_f32(-(x * std::fma(kGeluB, x * x, kGeluA))));
    case Activation::kGeluErf:
      return (0.5F * x) * (1.0F + erf_f32(x * kSqrtHalf));
    case Activation::kRelu:
      return x < 0.0F ? 0.0F : x;
    case Activation::kRelu2: {
      const float positive = x < 0.0F ? 0.0F : x;
      return positive * positive;
    }
    case Activation::kQuickGelu:
      return x / (1.0F + exp_f32(-(x * kSigmoidGelu)));
  }
  return x;
}

}  // namespace fathom::kernels::scalar
