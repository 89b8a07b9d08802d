// exp, tanh, erf and the activations against the C library in long double: at most 2 ulp.
#include "kernels/scalar/math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace fathom::kernels::scalar {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

double ulps(float got, long double want) {
  int exponent = 0;
  std::frexp(want, &exponent);
  exponent = exponent < -125 ? -125 : exponent;  // subnormals share one spacing
  return static_cast<double>(std::fabs(got - want) / std::ldexp(1.0L, exponent - 24));
}

// Calls check(x) for floats of both signs and all exponents, about 200,000 of them.
template <typename Check>
void sweep(const Check& check) {
  for (uint64_t bits = 0; bits < 0x100000000ULL; bits += 21001) {
    const auto x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (std::isfinite(x)) {
      check(x);
    }
  }
  for (int i = -100000; i <= 100000; i += 3) {
    check(static_cast<float>(i) * 1e-3F);
  }
}

TEST(Math, ExpIsWithinTwoUlps) {
  sweep([](float x) {
    if (x >= -87.0F && x <= 88.72283F) {
      ASSERT_LE(ulps(exp_f32(x), std::exp(static_cast<long double>(x))), 2.0) << x;
    }
  });
}

TEST(Math, ExpAtItsBorders) {
  EXPECT_EQ(exp_f32(0.0F), 1.0F);
  EXPECT_EQ(exp_f32(-0.0F), 1.0F);
  EXPECT_EQ(exp_f32(0x1p-149F), 1.0F);
  EXPECT_GT(exp_f32(-87.0F), 1.6e-38F);
  EXPECT_EQ(exp_f32(-0x1.5c0002p6F), 0.0F);  // the next below -87
  EXPECT_EQ(exp_f32(-1e30F), 0.0F);
  EXPECT_EQ(exp_f32(-kInf), 0.0F);
  EXPECT_TRUE(std::isfinite(exp_f32(0x1.62e42ep6F)));
  EXPECT_EQ(exp_f32(0x1.62e430p6F), kInf);
  EXPECT_EQ(exp_f32(kInf), kInf);
  EXPECT_TRUE(std::isnan(exp_f32(kNan)));
}

TEST(Math, TanhIsWithinTwoUlpsAndOdd) {
  sweep([](float x) {
    ASSERT_LE(ulps(tanh_f32(x), std::tanh(static_cast<long double>(x))), 2.0) << x;
    ASSERT_EQ(tanh_f32(-x), -tanh_f32(x));
  });
  EXPECT_EQ(std::bit_cast<uint32_t>(tanh_f32(-0.0F)), 0x80000000U);
  EXPECT_EQ(tanh_f32(kInf), 1.0F);
  EXPECT_TRUE(std::isnan(tanh_f32(kNan)));
}

TEST(Math, ErfIsWithinTwoUlpsAndOdd) {
  sweep([](float x) {
    ASSERT_LE(ulps(erf_f32(x), std::erf(static_cast<long double>(x))), 2.0) << x;
    ASSERT_EQ(erf_f32(-x), -erf_f32(x));
  });
  EXPECT_EQ(erf_f32(-kInf), -1.0F);
  EXPECT_TRUE(std::isnan(erf_f32(kNan)));
}

// The formulas in long double; relative where the value is not tiny.
void expect_near(float got, long double want) {
  ASSERT_LE(std::fabs(got - want), 1e-6L * std::fabs(want) + 2e-7L);
}

TEST(Math, Activations) {
  for (int i = -12000; i <= 12000; ++i) {
    const float x = static_cast<float>(i) * 1e-3F;
    const auto v = static_cast<long double>(x);
    expect_near(activate(Activation::kSilu, x), v / (1 + std::exp(-v)));
    const long double u = std::sqrt(2 / std::acos(-1.0L)) * (v + 0.044715L * v * v * v);
    expect_near(activate(Activation::kGeluTanh, x), 0.5L * v * (1 + std::tanh(u)));
    expect_near(activate(Activation::kGeluErf, x), 0.5L * v * (1 + std::erf(v / std::sqrt(2.0L))));
    ASSERT_EQ(activate(Activation::kRelu, x), x > 0 ? x : 0);
    ASSERT_EQ(activate(Activation::kRelu2, x), x > 0 ? x * x : 0);
    expect_near(activate(Activation::kQuickGelu, x), v / (1 + std::exp(-1.702L * v)));
  }
  for (const Activation a : {Activation::kSilu, Activation::kGeluTanh, Activation::kGeluErf,
                             Activation::kRelu, Activation::kQuickGelu}) {
    EXPECT_EQ(activate(a, 0.0F), 0.0F);
    EXPECT_EQ(activate(a, 1e30F), 1e30F);
    EXPECT_EQ(activate(a, -1e30F), 0.0F);
    EXPECT_TRUE(std::isnan(activate(a, kNan)));
  }
  EXPECT_EQ(activate(Activation::kRelu2, -1e30F), 0.0F);
  EXPECT_EQ(activate(Activation::kRelu2, 1e30F), kInf);
  EXPECT_TRUE(std::isnan(activate(Activation::kRelu2, kNan)));
}

}  // namespace
}  // namespace fathom::kernels::scalar
