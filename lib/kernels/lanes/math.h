// exp, tanh, erf, the activations and bf16 rounding in 16 lanes, operation for operation as scalar.
// Called by lanes/rows.h, lanes/attend.h. Read next: kernels/scalar/math.cc, base/half.h.
#pragma once

#include <cstdint>

#include "kernels/math_constants.h"
#include "kernels/table.h"

namespace fathom::kernels {
namespace {

// c[0] + x * (c[1] + x * (...))
template <class L, int kCount>
inline typename L::F horner(const float (&c)[kCount], typename L::F x) {
  typename L::F sum = L::set1(c[kCount - 1]);
  for (int i = kCount - 2; i >= 0; --i) {
    sum = L::fma(sum, x, L::set1(c[i]));
  }
  return sum;
}

template <class L>
inline typename L::F negate(typename L::F x) {
  return L::from_bits(L::xor_int(L::bits(x), L::set1_int(INT32_MIN)));
}

template <class L>
inline typename L::F magnitude(typename L::F x) {
  return L::from_bits(L::and_int(L::bits(x), L::set1_int(INT32_MAX)));
}

// |a| with the sign of x; a >= 0 or NaN.
template <class L>
inline typename L::F with_sign_of(typename L::F a, typename L::F x) {
  return L::from_bits(
      L::or_int(L::bits(magnitude<L>(a)), L::and_int(L::bits(x), L::set1_int(INT32_MIN))));
}

template <class L>
inline typename L::F exp_lanes(typename L::F x) {
  using F = typename L::F;
  const F one = L::set1(1.0F);
  const F shifted = L::fma(x, L::set1(kLog2E), L::set1(kRoundMagic));
  const F n = L::sub(shifted, L::set1(kRoundMagic));
  const F r = L::fma(n, L::set1(-kLn2Low), L::fma(n, L::set1(-kLn2High), x));
  const F p = L::fma(L::fma(horner<L>(kExpC, r), r, one), r, one);
  F y = L::from_bits(L::add_int(L::bits(p), L::template shl<23>(L::bits(shifted))));
  y = L::select(L::less(x, L::set1(kExpMin)), L::zero(), y);
  y = L::select(L::less(L::set1(kExpMax), x), L::from_bits(L::set1_int(0x7F800000)), y);
  return L::select(L::is_nan(x), x, y);
}

template <class L>
inline typename L::F tanh_lanes(typename L::F x) {
  using F = typename L::F;
  const F one = L::set1(1.0F);
  const F a = magnitude<L>(x);
  const F z = L::mul(a, a);
  const F small = L::fma(a, L::mul(z, horner<L>(kTanhC, z)), a);
  const F large = L::sub(one, L::div(L::set1(2.0F), L::add(exp_lanes<L>(L::add(a, a)), one)));
  return with_sign_of<L>(L::select(L::less(a, L::set1(kTanhSmall)), small, large), x);
}

template <class L>
inline typename L::F erf_lanes(typename L::F x) {
  using F = typename L::F;
  const F a = magnitude<L>(x);
  const F small = L::fma(a, horner<L>(kErfSmallC, L::mul(a, a)), a);
  const F end = L::set1(kErfEnd);
  const F t = L::select(L::less(end, a), end, a);
  const F decay = negate<L>(L::fma(t, horner<L>(kErfLargeC, t), t));
  const F large = L::sub(L::set1(1.0F), exp_lanes<L>(decay));
  return with_sign_of<L>(L::select(L::less(a, L::set1(kErfSmall)), small, large), x);
}

template <class L, Activation kActivation>
inline typename L::F activate_lanes(typename L::F x) {
  using F = typename L::F;
  const F one = L::set1(1.0F);
  if constexpr (kActivation == Activation::kSilu) {
    return L::div(x, L::add(one, exp_lanes<L>(negate<L>(x))));
  } else if constexpr (kActivation == Activation::kGeluTanh) {
    const F u = L::mul(x, L::fma(L::set1(kGeluB), L::mul(x, x), L::set1(kGeluA)));
    return L::div(x, L::add(one, exp_lanes<L>(negate<L>(u))));
  } else if constexpr (kActivation == Activation::kGeluErf) {
    const F erf = erf_lanes<L>(L::mul(x, L::set1(kSqrtHalf)));
    return L::mul(L::mul(L::set1(0.5F), x), L::add(one, erf));
  } else if constexpr (kActivation == Activation::kQuickGelu) {
    const F u = L::mul(x, L::set1(kSigmoidGelu));
    return L::div(x, L::add(one, exp_lanes<L>(negate<L>(u))));
  } else {
    const F positive = L::select(L::less(x, L::zero()), L::zero(), x);
    return kActivation == Activation::kRelu2 ? L::mul(positive, positive) : positive;
  }
}

// round_to_bf16_operand of base/half.h: the upper half holds the bf16, the lower is zero.
template <class L>
inline typename L::F round_bf16_lanes(typename L::F x) {
  using F = typename L::F;
  const auto bits = L::bits(x);
  const auto odd = L::and_int(L::template shr<16>(bits), L::set1_int(1));
  const auto upper = L::set1_int(static_cast<int32_t>(0xFFFF0000));
  const auto rounded = L::add_int(L::add_int(bits, L::set1_int(0x7FFF)), odd);
  const F quiet = L::from_bits(L::or_int(bits, L::set1_int(0x400000)));
  F y = L::select(L::is_nan(x), quiet, L::from_bits(rounded));
  y = L::from_bits(L::and_int(L::bits(y), upper));
  return L::select(L::less(magnitude<L>(x), L::set1(0x1p-50F)), L::zero(), y);
}

}  // namespace
}  // namespace fathom::kernels
