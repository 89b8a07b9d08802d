// f16 and bf16 conversions against values worked out by hand and against arithmetic on the fields.
#include "base/half.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fathom {
namespace {

// The value that the fields of an f16 spell.
double f16_by_fields(int half) {
  const double sign = (half & 0x8000) != 0 ? -1.0 : 1.0;
  const int exponent = half >> 10 & 31;
  const int fraction = half & 1023;
  return exponent == 0 ? sign * std::ldexp(fraction, -24)
                       : sign * std::ldexp(1024 + fraction, exponent - 25);
}

TEST(Half, EveryF16HasTheValueOfItsFieldsAndComesBack) {
  for (int half = 0; half < 0x10000; ++half) {
    const float wide = f16_to_f32(static_cast<uint16_t>(half));
    if ((half >> 10 & 31) == 31) {
      ASSERT_EQ(std::isinf(wide), (half & 1023) == 0) << half;
      ASSERT_EQ(std::isnan(wide), (half & 1023) != 0) << half;
      ASSERT_EQ(std::isnan(f16_to_f32(f32_to_f16(wide))), std::isnan(wide)) << half;
      continue;
    }
    ASSERT_EQ(wide, static_cast<float>(f16_by_fields(half))) << half;
    ASSERT_EQ(f32_to_f16(wide), half);
  }
}

TEST(Half, F16RoundsToNearestEven) {
  EXPECT_EQ(f32_to_f16(1.0F + 0x1p-11F), 0x3C00);      // a tie: down to even
  EXPECT_EQ(f32_to_f16(1.0F + 0x3p-11F), 0x3C02);      // a tie: up to even
  EXPECT_EQ(f32_to_f16(1.0F + 0x1.002p-11F), 0x3C01);  // above the tie
  EXPECT_EQ(f32_to_f16(65519.0F), 0x7BFF);             // the largest
  EXPECT_EQ(f32_to_f16(65520.0F), 0x7C00);             // Inf
  EXPECT_EQ(f32_to_f16(-0x1p-25F), 0x8000);            // half the smallest: to even, -0
  EXPECT_EQ(f32_to_f16(0x1.8p-25F), 0x0001);
  EXPECT_EQ(f32_to_f16(0x1.ff8p-15F), 0x03FF);  // the largest subnormal
  EXPECT_EQ(f32_to_f16(0x1.ffcp-15F), 0x0400);  // a tie up to the smallest normal
}

TEST(Half, Bf16RoundsToNearestEven) {
  EXPECT_EQ(f32_to_bf16(1.0F), 0x3F80);
  EXPECT_EQ(f32_to_bf16(0x1.01p0F), 0x3F80);  // tie, even below
  EXPECT_EQ(f32_to_bf16(0x1.03p0F), 0x3F82);  // tie, even above
  EXPECT_EQ(f32_to_bf16(0x1.010002p0F), 0x3F81);
  EXPECT_EQ(f32_to_bf16(-0x1.fffffep127F), 0xFF80);  // overflows to -Inf
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::bit_cast<float>(0x7F800001U)))));
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::bit_cast<float>(0xFFFFFFFFU)))));
}

TEST(Half, TinyBf16OperandsBecomePlusZero) {
  EXPECT_EQ(std::bit_cast<uint32_t>(round_to_bf16_operand(-0x1.fffffep-51F)), 0U);
  EXPECT_EQ(std::bit_cast<uint32_t>(round_to_bf16_operand(-0.0F)), 0U);
  EXPECT_EQ(round_to_bf16_operand(-0x1p-50F), -0x1p-50F);
  EXPECT_EQ(round_to_bf16_operand(3.140625F), 3.140625F);
}

}  // namespace
}  // namespace fathom
