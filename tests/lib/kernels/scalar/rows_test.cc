// Row kernels of the definition, by hand and against double.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/dispatch.h"

namespace fathom::kernels {
namespace {

// The arrays that quantize_row fills, for one row of up to 4 blocks.
struct Quantized {
  int8_t q[4][32];
  float d[4];
  float ds[4];
  int32_t sums[4];
  int32_t half_sums[4][2];
  bool is_finite;

  explicit Quantized(const std::vector<float>& x) {
    QuantizeArgs args;
    args.x = x.data();
    args.n = static_cast<int64_t>(x.size());
    args.n_rows = 1;
    args.q = q[0];
    args.d = d;
    args.ds = ds;
    args.sums = sums;
    args.half_sums = half_sums[0];
    is_finite = scalar_table().quantize_row(args);
  }
};

TEST(Rows, QuantizeByHand) {
  std::vector<float> x(36, 0.0F);
  x[0] = 254.0F;  // d = 2, codes are x / 2
  x[1] = -3.0F;   // -1.5: a tie, to even
  x[2] = 5.0F;    // 2.5: a tie, to even
  x[20] = -254.0F;
  x[32] = 1.0F;  // second block: d = 1/127
  x[35] = -0.5F;
  const Quantized got(x);
  EXPECT_TRUE(got.is_finite);
  EXPECT_EQ(got.d[0], 2.0F);
  EXPECT_EQ(got.q[0][0], 127);
  EXPECT_EQ(got.q[0][1], -2);
  EXPECT_EQ(got.q[0][2], 2);
  EXPECT_EQ(got.q[0][20], -127);
  EXPECT_EQ(got.half_sums[0][0], 127);
  EXPECT_EQ(got.half_sums[0][1], -127);
  EXPECT_EQ(got.sums[0], 0);
  EXPECT_EQ(got.ds[0], 0.0F);
  EXPECT_EQ(got.d[1], 1.0F / 127.0F);
  EXPECT_EQ(got.q[1][0], 127);
  EXPECT_EQ(got.q[1][3], -64);  // -63.5: a tie, to even
  EXPECT_EQ(got.q[1][4], 0);    // padding
  EXPECT_EQ(got.sums[1], 63);
  EXPECT_EQ(got.ds[1], 63 * (1.0F / 127.0F));
}

TEST(Rows, QuantizeTreatsTinyBlocksAsZeroAndRefusesInfAndNan) {
  std::vector<float> x(96, 0.0F);
  x[3] = 0x1.fffffep-101F;
  x[40] = 0x1p-100F;
  x[70] = HUGE_VALF;
  const Quantized got(x);
  EXPECT_FALSE(got.is_finite);
  EXPECT_EQ(got.d[0], 0.0F);
  EXPECT_EQ(got.q[0][3], 0);
  EXPECT_EQ(got.q[1][8], 127);
  EXPECT_EQ(got.d[1], 0x1p-100F / 127.0F);
  EXPECT_EQ(got.d[2], 0.0F);
  x[70] = -NAN;
  EXPECT_FALSE(Quantized(x).is_finite);
  x[70] = 0x1.fffffep127F;  // the largest float is fine
  EXPECT_TRUE(Quantized(x).is_finite);
  EXPECT_EQ(Quantized(x).q[2][6], 127);
}

TEST(Rows, FloatRowsGoToTheirSlots) {
  const std::vector<float> x = {0x1.03p0F, 0x1p-51F, 3.0F};
  std::vector<float> out(size_t{3} * 2 * 32, -1.0F);
  FloatRowArgs args;
  args.x = x.data();
  args.n = 3;
  args.row = 1;
  args.n_rows = 2;
  args.first_block = 1;
  args.out = out.data();
  scalar_table().round_row_bf16(args);
  const float* slot = out.data() + (1 * 2 + 1) * 32;
  EXPECT_EQ(slot[0], 0x1.04p0F);
  EXPECT_EQ(slot[1], 0.0F);
  EXPECT_EQ(slot[2], 3.0F);
  EXPECT_EQ(slot[31], 0.0F);
  EXPECT_EQ(slot[-1], -1.0F);  // the other row is left alone
  scalar_table().copy_row_f32(args);
  EXPECT_EQ(slot[0], 0x1.03p0F);
  EXPECT_EQ(slot[1], 0x1p-51F);
}

TEST(Rows, RmsNormAgainstDouble) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (const int64_t n : {1, 15, 17, 576}) {
    std::vector<float> x(static_cast<size_t>(n));
    std::vector<float> w(x.size());
    std::vector<float> y(x.size());
    double sum = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = normal(random);
      w[i] = normal(random);
      sum += static_cast<double>(x[i]) * x[i];
    }
    scalar_table().rms_norm(x.data(), w.data(), n, 1e-5F, y.data());
    const double r = 1 / std::sqrt(sum / static_cast<double>(n) + 1e-5);
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(y[i], x[i] * r * w[i], 1e-6 * std::fabs(x[i] * r * w[i]) + 1e-30);
    }
  }
}

TEST(Rows, RmsNormAddsInSixteenLanes) {
  // Lane 0 holds 2^24 and then two ones that it cannot see one by one; lane 1 holds their like,
  // which joins as 2: ((2^24 + 1) + 1) + 2 = 2^24 + 2 in this order alone.
  std::vector<float> x(48, 0.0F);
  x[0] = 4096.0F;
  x[16] = 1.0F;
  x[32] = 1.0F;
  x[1] = 1.0F;
  x[17] = 1.0F;
  const std::vector<float> w(48, 1.0F);
  std::vector<float> y(48);
  scalar_table().rms_norm(x.data(), w.data(), 48, 0.0F, y.data());
  const float r = 1.0F / std::sqrt((0x1p24F + 2.0F) / 48.0F);
  EXPECT_EQ(y[0], 4096.0F * r);
}

// (x - mean) / sqrt(variance + eps) * w + b in double; null for a missing w or b.
std::vector<double> layer_norm_in_double(const std::vector<float>& x, const float* w,
                                         const float* b, double eps) {
  const auto n = static_cast<double>(x.size());
  double mean = 0;
  for (const float value : x) {
    mean += value / n;
  }
  double variance = 0;
  for (const float value : x) {
    variance += (value - mean) * (value - mean) / n;
  }
  std::vector<double> y;
  for (size_t i = 0; i < x.size(); ++i) {
    const double normal = (x[i] - mean) / std::sqrt(variance + eps);
    y.push_back(normal * (w != nullptr ? w[i] : 1.0) + (b != nullptr ? b[i] : 0.0));
  }
  return y;
}

// `kind`: 1 with weights, 2 with bias, 3 with both. The mean is a rounded f32: an error of some
// 2^-24 of the offset comes beside the usual.
void check_layer_norm(int64_t n, float offset, int kind) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<size_t>(n));
  std::vector<float> w(x.size());
  std::vector<float> b(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = normal(random) + offset;
    w[i] = normal(random);
    b[i] = normal(random);
  }
  const float* weight = (kind & 1) != 0 ? w.data() : nullptr;
  const float* bias = (kind & 2) != 0 ? b.data() : nullptr;
  std::vector<float> y = x;
  scalar_table().layer_norm(y.data(), weight, bias, n, 1e-5F, y.data());  // in place
  const std::vector<double> want = layer_norm_in_double(x, weight, bias, 1e-5);
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_NEAR(y[i], want[i], 4e-7 * (1 + offset + std::fabs(want[i]))) << n << ' ' << i;
  }
}

TEST(Rows, LayerNormAgainstDouble) {
  for (const int64_t n : {1, 15, 17, 576, 4096}) {
    for (const int kind : {0, 1, 2, 3}) {
      check_layer_norm(n, 0.0F, kind);
      check_layer_norm(n, 3.0F, kind);
    }
  }
}

TEST(Rows, LayerNormByHand) {
  // mean 5, variance ((-3)^2 + 1 + 1 + 3^2) / 4 = 5; eps makes it 16: every step is exact
  const float x[4] = {2.0F, 4.0F, 6.0F, 8.0F};
  const float w[4] = {1.0F, 2.0F, 3.0F, 4.0F};
  const float b[4] = {0.5F, 0.0F, -1.0F, 1.0F};
  float y[4];
  scalar_table().layer_norm(x, w, b, 4, 11.0F, y);
  EXPECT_EQ(y[0], -0.25F);
  EXPECT_EQ(y[1], -0.5F);
  EXPECT_EQ(y[2], -0.25F);
  EXPECT_EQ(y[3], 4.0F);
  scalar_table().layer_norm(x, nullptr, nullptr, 4, 11.0F, y);
  EXPECT_EQ(y[0], -0.75F);
  EXPECT_EQ(y[3], 0.75F);
}

TEST(Rows, LayerNormAddsInSixteenLanes) {
  // As RmsNormAddsInSixteenLanes, for the sum: lane 0 loses its two ones, lane 1 joins as 2.
  std::vector<float> x(48, 0.0F);
  x[0] = 0x1p24F;
  x[16] = 1.0F;
  x[32] = 1.0F;
  x[1] = 1.0F;
  x[17] = 1.0F;
  std::vector<float> y(48);
  const float mean = (0x1p24F + 2.0F) / 48.0F;
  // eps dwarfs the variance: r = 2^-40
  scalar_table().layer_norm(x.data(), nullptr, nullptr, 48, 0x1p80F, y.data());
  EXPECT_EQ(y[0], (0x1p24F - mean) * 0x1p-40F);
  EXPECT_EQ(y[5], -mean * 0x1p-40F);
}

// Both products are rounded: no fused multiply and add anywhere.
TEST(Rows, LayerNormRoundsTheProductBeforeTheBias) {
  const float x[2] = {1.0F, 3.0F};  // normal values -1 and 1 with r = 1
  const float third = 1.0F / 3.0F;
  const float w[2] = {third, 0x1.000002p0F};
  float y[2];
  const float r = 1.0F / std::sqrt(1.0F + 2.0F);
  const float b[2] = {r * third, -(r * 0x1.000002p0F)};
  scalar_table().layer_norm(x, w, b, 2, 2.0F, y);
  EXPECT_EQ(y[0], 0.0F);
  EXPECT_EQ(y[1], 0.0F);
}

TEST(Rows, ActivateIsGatedByOne) {
  std::vector<float> x;
  for (int i = -200; i <= 200; ++i) {
    x.push_back(static_cast<float>(i) * 0.07F);
  }
  const auto n = static_cast<int64_t>(x.size());
  const std::vector<float> ones(x.size(), 1.0F);
  for (int i = 0; i < kNumActivations; ++i) {
    std::vector<float> alone(x.size());
    std::vector<float> with_one(x.size());
    scalar_table().activate[i](x.data(), n, alone.data());
    scalar_table().gated[i](x.data(), ones.data(), n, with_one.data());
    EXPECT_EQ(alone, with_one) << i;
  }
}

TEST(Rows, ClampedSwigluAgainstDouble) {
  const std::vector<float> gate = {0.0F, 1.0F, -1.0F, 6.9F, 7.0F, 9.0F, 1e30F, -30.0F, 2.5F};
  const std::vector<float> up = {3.0F, -0.5F, 100.0F, -100.0F, 7.0F, -7.5F, 0.25F, 1.0F, -1.0F};
  const auto n = static_cast<int64_t>(gate.size());
  std::vector<float> y(gate.size());
  scalar_table().clamped_swiglu(gate.data(), up.data(), n, 7.0F, y.data());
  for (size_t i = 0; i < gate.size(); ++i) {
    const double g = gate[i] > 7 ? 7 : static_cast<double>(gate[i]);
    const double u = up[i] > 7 ? 7 : up[i] < -7 ? -7 : static_cast<double>(up[i]);
    const double want = (u + 1) * g / (1 + std::exp(-1.702 * g));
    EXPECT_NEAR(y[i], want, 1e-6 * std::fabs(want) + 1e-20) << i;
  }
  EXPECT_EQ(y[8], 0.0F);
  const float nan[2] = {NAN, 1.0F};
  const float other[2] = {1.0F, NAN};
  scalar_table().clamped_swiglu(nan, other, 2, 7.0F, y.data());
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]));
}

TEST(Rows, ClampKeepsNan) {
  float x[6] = {-9.0F, -2.0F, 1.5F, HUGE_VALF, -HUGE_VALF, NAN};
  scalar_table().clamp(x, 6, 2.0F);
  EXPECT_EQ(x[0], -2.0F);
  EXPECT_EQ(x[1], -2.0F);
  EXPECT_EQ(x[2], 1.5F);
  EXPECT_EQ(x[3], 2.0F);
  EXPECT_EQ(x[4], -2.0F);
  EXPECT_TRUE(std::isnan(x[5]));
}

TEST(Rows, AddScaledRoundsTwice) {
  // 3 * (1 + 2^-23) is a tie that rounds to 3 + 2^-21; fused, the sum would keep 3 * 2^-23.
  const float y[2] = {0x1.000002p0F, 2.0F};
  float x[2] = {-3.0F, 0.5F};
  scalar_table().add_scaled(y, 3.0F, 2, x);
  EXPECT_EQ(x[0], 0x1p-21F);
  EXPECT_EQ(x[1], 6.5F);
}

TEST(Rows, RopeTurnsPairs) {
  const float cos[2] = {0.0F, 0.5F};
  const float sin[2] = {1.0F, 0.25F};
  float halves[5] = {1.0F, 2.0F, 3.0F, 4.0F, 9.0F};
  scalar_table().rope[static_cast<int>(RopeStyle::kHalves)](halves, cos, sin, 2);
  EXPECT_EQ(halves[0], -3.0F);  // (1, 3) by 90 degrees
  EXPECT_EQ(halves[2], 1.0F);
  EXPECT_EQ(halves[1], 0.0F);  // 2 * 0.5 - 4 * 0.25
  EXPECT_EQ(halves[3], 2.5F);  // 4 * 0.5 + 2 * 0.25
  EXPECT_EQ(halves[4], 9.0F);
  float pairs[4] = {1.0F, 2.0F, 3.0F, 4.0F};
  scalar_table().rope[static_cast<int>(RopeStyle::kPairs)](pairs, cos, sin, 2);
  EXPECT_EQ(pairs[0], -2.0F);
  EXPECT_EQ(pairs[1], 1.0F);
  EXPECT_EQ(pairs[2], 0.5F);
  EXPECT_EQ(pairs[3], 2.75F);
}

TEST(Rows, AddScaleSoftCap) {
  const float a[3] = {1.0F, 2.0F, 3.0F};
  float y[3] = {10.0F, 20.0F, 30.0F};
  scalar_table().add(a, y, 3, y);
  EXPECT_EQ(y[2], 33.0F);
  scalar_table().scale(y, 0.5F, 3, y);
  EXPECT_EQ(y[1], 11.0F);
  float x[3] = {0.0F, 15.0F, 1e9F};
  scalar_table().soft_cap(x, 3, 30.0F);
  EXPECT_EQ(x[0], 0.0F);
  EXPECT_NEAR(x[1], 30 * std::tanh(0.5), 3e-6);
  EXPECT_EQ(x[2], 30.0F);
}

}  // namespace
}  // namespace fathom::kernels
