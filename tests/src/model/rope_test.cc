// Rope frequencies against figures computed from the published formulas.
#include "model/rope.h"

#include <gtest/gtest.h>

namespace fathom::model {
namespace {

TEST(Rope, PlainFrequenciesAreThePowersOfTheBase) {
  RopeOptions rope;
  rope.rotary_dim = 8;
  const auto f = make_inv_freq(rope, {});
  ASSERT_EQ(f.size(), 4U);
  EXPECT_FLOAT_EQ(f[0], 1.0F);
  EXPECT_FLOAT_EQ(f[1], 0.1F);
  EXPECT_FLOAT_EQ(f[2], 0.01F);
  EXPECT_FLOAT_EQ(f[3], 0.001F);
}

TEST(Rope, LinearScalingDividesByTheFactor) {
  RopeOptions rope;
  rope.rotary_dim = 8;
  const auto plain = make_inv_freq(rope, {});
  rope.scaling = RopeScaling::kLinear;
  rope.factor = 2;
  const auto scaled = make_inv_freq(rope, {});
  for (size_t i = 0; i < plain.size(); ++i) {
    EXPECT_EQ(scaled[i], plain[i] / 2);  // so position 2p equals the unscaled position p
  }
}

// C47 (a): head size 64, base 500000, factor 32, low 1, high 4, original context 8192.
TEST(Rope, Llama3ScalingBlendsTheMiddle) {
  RopeOptions rope;
  rope.rotary_dim = 64;
  rope.theta = 500000;
  const auto plain = make_inv_freq(rope, {});
  rope.scaling = RopeScaling::kLlama3;
  rope.factor = 32;
  rope.low_freq_factor = 1;
  rope.high_freq_factor = 4;
  rope.original_context = 8192;
  const auto scaled = make_inv_freq(rope, {});
  for (size_t i = 0; i <= 14; ++i) {
    EXPECT_EQ(scaled[i], plain[i]);
  }
  EXPECT_NEAR(scaled[15] / plain[15], 0.605573, 1e-5);
  EXPECT_NEAR(scaled[16] / plain[16], 0.303743, 1e-5);
  EXPECT_NEAR(scaled[17] / plain[17], 0.103448, 1e-5);
  for (size_t i = 18; i < 32; ++i) {
    EXPECT_NEAR(scaled[i] / plain[i], 0.03125, 1e-7);
  }
  EXPECT_NEAR(scaled[16], 4.295567966e-4, 1e-9);
  EXPECT_NEAR(scaled[31], 9.418306725e-8, 1e-13);
}

TEST(Rope, DivisorsOfTheFileDivide) {
  RopeOptions rope;
  rope.rotary_dim = 4;
  const std::vector<float> divisors = {1.0F, 8.0F};
  const auto f = make_inv_freq(rope, divisors);
  EXPECT_FLOAT_EQ(f[0], 1.0F);
  EXPECT_FLOAT_EQ(f[1], 0.01F / 8);
}

}  // namespace
}  // namespace fathom::model
