// Eight-bit floats at the ends of their ranges; all bytes stand in dequantize_cases.txt.
#include "quant/small_floats.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fathom::quant {
namespace {

TEST(SmallFloats, E4M3) {
  EXPECT_EQ(f8_e4m3_to_f32(0x38), 1.0F);
  EXPECT_EQ(f8_e4m3_to_f32(0x7E), 448.0F);
  EXPECT_EQ(f8_e4m3_to_f32(0x81), -0x1p-9F);
  EXPECT_TRUE(std::isnan(f8_e4m3_to_f32(0xFF)));
}

TEST(SmallFloats, E5M2) {
  EXPECT_EQ(f8_e5m2_to_f32(0x3C), 1.0F);
  EXPECT_EQ(f8_e5m2_to_f32(0xFB), -57344.0F);
  EXPECT_EQ(f8_e5m2_to_f32(0x01), 0x1p-16F);
  EXPECT_TRUE(std::isinf(f8_e5m2_to_f32(0x7C)));
}

TEST(SmallFloats, E8M0Halved) {
  EXPECT_EQ(half_of_e8m0(127), 0.5F);
  EXPECT_EQ(half_of_e8m0(0), 0x1p-128F);
  EXPECT_EQ(half_of_e8m0(1), 0x1p-127F);
  EXPECT_EQ(half_of_e8m0(2), 0x1p-126F);
  EXPECT_EQ(half_of_e8m0(254), 0x1p126F);
  EXPECT_TRUE(std::isnan(half_of_e8m0(255)));
}

}  // namespace
}  // namespace fathom::quant
