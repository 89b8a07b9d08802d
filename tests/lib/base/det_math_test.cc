// Deterministic log, exp, pow, sin and cos against the C library in long double.
#include "base/det_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace fathom {
namespace {

// Distance in units of the last place of an f32.
double ulps_f32(float got, long double want) {
  int exponent = 0;
  std::frexp(want, &exponent);
  return static_cast<double>(std::fabs(got - want) / std::ldexp(1.0L, exponent - 24));
}

TEST(DetMath, SineAndCosineOfAnglesUpToAMillionPositions) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i) {
    const auto exponent = static_cast<int>(random() % 44) - 14;
    const auto unit = static_cast<float>(random() >> 40) * 0x1p-24F;
    const float angle = std::ldexp(unit, exponent);
    const SinCos got = sin_cos_f32(angle);
    const auto x = static_cast<long double>(angle);
    ASSERT_LE(ulps_f32(got.sin, std::sin(x)), 0.51) << angle;
    ASSERT_LE(ulps_f32(got.cos, std::cos(x)), 0.51) << angle;
    const SinCos mirrored = sin_cos_f32(-angle);
    ASSERT_EQ(mirrored.sin, -got.sin);
    ASSERT_EQ(mirrored.cos, got.cos);
  }
}

TEST(DetMath, SineAndCosineOfSpecialAngles) {
  EXPECT_EQ(sin_cos_f32(0.0F).sin, 0.0F);
  EXPECT_EQ(sin_cos_f32(0.0F).cos, 1.0F);
  EXPECT_EQ(sin_cos_f32(0x1.921fb6p+0F).sin, 1.0F);              // the f32 next to pi / 2
  EXPECT_EQ(sin_cos_f32(0x1.921fb6p+0F).cos, -0x1.777a5cp-25F);  // its distance from pi / 2
  EXPECT_TRUE(std::isnan(sin_cos_f32(HUGE_VALF).sin));
  EXPECT_TRUE(std::isnan(sin_cos_f32(NAN).cos));
}

TEST(DetMath, LogExpAndPow) {
  std::mt19937_64 random(2);
  const auto unit = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  for (int i = 0; i < 100000; ++i) {
    const double x = std::exp2((unit() - 0.5) * 200);
    const long double log_x = std::log(static_cast<long double>(x));
    ASSERT_LE(std::fabs(det_log(x) - log_x), 3e-16L + 1e-15L * std::fabs(log_x)) << x;
    const double y = (unit() - 0.5) * 1400;
    ASSERT_LE(std::fabs(det_exp(y) / std::exp(static_cast<long double>(y)) - 1), 1e-15L) << y;
    const double base = 1.0 + unit() * 1e7;
    const double exponent = 2 * unit() - 1;
    const long double power = std::pow(static_cast<long double>(base), exponent);
    ASSERT_LE(std::fabs(det_pow(base, exponent) / power - 1), 1e-14L) << base << ' ' << exponent;
  }
}

// Every remainder of four, values at and beyond the edge, in place.
TEST(DetMath, ExpOfManyEqualsExpOfOne) {
  std::vector<double> x = {
      0.0,      -0.0,           -87.0, -87.00001,    -1e30,
      -0x1p-60, -std::log(2.0), -0.5,  std::nan(""), -std::numeric_limits<double>::infinity()};
  for (int i = 0; i < 5000; ++i) {
    x.push_back(-static_cast<double>(i) * 0.0175 - 1e-7 * (i % 13));
  }
  for (size_t n : {size_t{0}, size_t{1}, size_t{2}, size_t{3}, size_t{4}, size_t{7}, x.size()}) {
    std::vector<double> y(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(n));
    det_exp_many(y.data(), static_cast<int64_t>(n), y.data());
    for (size_t i = 0; i < n; ++i) {
      ASSERT_EQ(y[i], x[i] >= -87.0 ? det_exp(x[i]) : 0.0) << x[i];
    }
  }
}

TEST(DetMath, ExactWhereTheAnswerIsExact) {
  EXPECT_EQ(det_log(1.0), 0.0);
  EXPECT_EQ(det_exp(0.0), 1.0);
  EXPECT_EQ(det_pow(10000.0, 0.0), 1.0);
  EXPECT_EQ(det_pow(1.0, 0.37), 1.0);
}

}  // namespace
}  // namespace fathom
