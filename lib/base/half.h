// Half floats by own bit code: f16 and bf16 to f32 and back, the same on every machine.
// Called by quant, kernels/scalar, weights. Read next: docs/numbers.md, "Half floats".
#pragma once

#include <bit>
#include <cstdint>

namespace fathom {

// Exact. f16: 1 sign, 5 exponent (bias 15), 10 fraction bits; subnormals, Inf and NaN included.
constexpr float f16_to_f32(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000U) << 16;
  const uint32_t exponent = (half >> 10) & 0x1FU;
  const uint32_t fraction = half & 0x3FFU;
  if (exponent == 0x1F) {  // Inf, or NaN made quiet
    const uint32_t quiet = fraction == 0 ? 0U : 0x400000U;
    return std::bit_cast<float>(sign | 0x7F800000U | quiet | fraction << 13);
  }
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24, an exact product
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | (exponent + 112U) << 23 | fraction << 13);
}

// To nearest, ties to even; above 65519.99 becomes Inf; NaN stays NaN.
constexpr uint16_t f32_to_f16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000U;
  const uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) {
    return static_cast<uint16_t>(sign | 0x7E00U | (magnitude >> 13 & 0x3FFU));
  }
  if (magnitude >= 0x477FF000U) {  // 65520 and more
    return static_cast<uint16_t>(sign | 0x7C00U);
  }
  if (magnitude <
      0x38800000U) {  // below 2^-14: adding 0.5 leaves a multiple of 2^-24 in the low bits
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3F000000U));
  }
  const uint32_t odd = magnitude >> 13 & 1U;
  return static_cast<uint16_t>(sign | (magnitude - 0x38000000U + 0xFFFU + odd) >> 13);
}

// Exact.
constexpr float bf16_to_f32(uint16_t half) {
  return std::bit_cast<float>(static_cast<uint32_t>(half) << 16);
}

// To nearest, ties to even; NaN stays NaN (made quiet).
constexpr uint16_t f32_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) {
    return static_cast<uint16_t>(bits >> 16 | 0x40U);
  }
  return static_cast<uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

// The smallest magnitude that a bf16 operand of a product may have; smaller ones become +0, so that
// no product is subnormal on any machine.
inline constexpr float kBf16Tiny = 0x1p-50F;

// An f32 as bf16 operand: |value| < 2^-50 gives +0, the rest is rounded.
constexpr uint16_t f32_to_bf16_operand(float value) {
  const uint32_t magnitude = std::bit_cast<uint32_t>(value) & 0x7FFFFFFFU;
  return magnitude < std::bit_cast<uint32_t>(kBf16Tiny) ? uint16_t{0} : f32_to_bf16(value);
}

// The same, held as f32.
constexpr float round_to_bf16_operand(float value) {
  return bf16_to_f32(f32_to_bf16_operand(value));
}

}  // namespace fathom
