// Floats of eight bits: FP8 values and the power-of-two scales of microscaling formats.
// Called by quant/dequantize, quant/packed_block, weights/fp8_tensors. Sources: OCP 8-bit Floating
// Point Specification 1.0 (E4M3, E5M2); OCP Microscaling Formats 1.0, section 5.4.1 (E8M0).
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "base/half.h"

namespace fathom::quant {

inline constexpr uint8_t kE8m0NaN = 255;

// E4M3 without infinities: 1 sign, 4 exponent (bias 7), 3 fraction bits; all ones is NaN. Exact.
constexpr float f8_e4m3_to_f32(uint8_t bits) {
  const uint32_t exponent = bits >> 3 & 15U;
  const uint32_t fraction = bits & 7U;
  if ((bits & 0x7FU) == 0x7FU) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  const float magnitude = exponent == 0
                              ? static_cast<float>(fraction) * 0x1p-9F
                              : std::bit_cast<float>((exponent + 120U) << 23 | fraction << 20);
  return bits >> 7 == 0 ? magnitude : -magnitude;
}

// E5M2, the upper half of an f16; Inf and NaN included. Exact.
constexpr float f8_e5m2_to_f32(uint8_t bits) {
  return f16_to_f32(static_cast<uint16_t>(bits << 8));
}

// 2^(e - 128), half of the E8M0 value: the scale of codes that are doubled. NaN for e = 255.
constexpr float half_of_e8m0(uint8_t e) {
  if (e == kE8m0NaN) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  return std::bit_cast<float>(e >= 2 ? (e - 1U) << 23 : 0x200000U << e);
}

}  // namespace fathom::quant
