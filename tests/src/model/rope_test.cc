// Rope frequencies against what transformers 5.24 computes (modeling_rope_utils.py, heads of 16
// and base 10000 unless said otherwise), and the choice that a length makes.
#include "model/rope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <vector>

namespace fathom::model {
namespace {

struct RopeTable {
  std::vector<float> inv_freq;
  double magnitude = 0;
};

RopeTable make_rope_table(const RopeOptions& rope, std::span<const float> divisors,
                          int64_t length) {
  RopeTable table{std::vector<float>(static_cast<size_t>(rope.rotary_dim / 2)), rope.magnitude};
  fill_inv_freq(rope, divisors, length, table.inv_freq);
  return table;
}

// Equal to one step of f32: the reference rounds a power once more or less.
void expect_table(const RopeTable& table, const std::vector<double>& inv_freq, double magnitude) {
  ASSERT_EQ(table.inv_freq.size(), inv_freq.size());
  for (size_t i = 0; i < inv_freq.size(); ++i) {
    EXPECT_NEAR(table.inv_freq[i], inv_freq[i], 1.5e-7 * inv_freq[i]) << "pair " << i;
  }
  EXPECT_NEAR(table.magnitude, magnitude, 1e-7 * magnitude);
}

RopeOptions rope_of(RopeScaling scaling, double factor, double original_context) {
  RopeOptions rope;
  rope.rotary_dim = 16;
  rope.scaling = scaling;
  rope.factor = factor;
  rope.original_context = original_context;
  return rope;
}

const std::vector<double> kPlain = {1.0,           0.316227764,   0.100000001,   0.0316227786,
                                    0.00999999978, 0.00316227786, 0.00100000005, 0.000316227786};

TEST(Rope, PlainFrequenciesAreThePowersOfTheBase) {
  expect_table(make_rope_table(rope_of(RopeScaling::kNone, 1, 0), {}, 5000), kPlain, 1);
}

TEST(Rope, LinearScalingDividesByTheFactor) {
  expect_table(make_rope_table(rope_of(RopeScaling::kLinear, 4, 0), {}, 0),
               {0.25, 0.079056941, 0.0250000004, 0.00790569466, 0.00249999994, 0.000790569466,
                0.000250000012, 7.90569466e-05},
               1);
}

TEST(Rope, DynamicBaseGrowsWithTheLength) {
  const RopeOptions rope = rope_of(RopeScaling::kDynamic, 2, 64);
  for (const int64_t length : {0, 1, 64}) {
    expect_table(make_rope_table(rope, {}, length), kPlain, 1);
  }
  expect_table(make_rope_table(rope, {}, 65),
               {1.0, 0.314840704, 0.0991246626, 0.0312084779, 0.00982569903, 0.00309352996,
                0.000973969174, 0.000306645117},
               1);
  expect_table(make_rope_table(rope, {}, 128),
               {1.0, 0.270296127, 0.0730599985, 0.0197478328, 0.00533776265, 0.00144277664,
                0.000389976922, 0.000105409257},
               1);
  expect_table(make_rope_table(rope, {}, 1000),
               {1.0, 0.194297776, 0.0377516225, 0.00733505562, 0.00142518489, 0.000276910228,
                5.38030399e-05, 1.04538103e-05},
               1);
}

TEST(Rope, Llama3ScalingBlendsTheMiddle) {
  RopeOptions rope = rope_of(RopeScaling::kLlama3, 8, 64);
  rope.theta = 500000;
  expect_table(make_rope_table(rope, {}, 0),
               {1.0, 0.079403013, 0.00470075384, 0.000911583134, 0.000176776681, 3.42810235e-05,
                6.64786967e-06, 1.28917316e-06},
               1);
}

// C47 (a): head size 64, base 500000, factor 32, low 1, high 4, original context 8192.
TEST(Rope, Llama3ScalingOfTheReleasedModels) {
  RopeOptions rope;
  rope.rotary_dim = 64;
  rope.theta = 500000;
  const auto plain = make_rope_table(rope, {}, 0).inv_freq;
  rope.scaling = RopeScaling::kLlama3;
  rope.factor = 32;
  rope.low_freq_factor = 1;
  rope.high_freq_factor = 4;
  rope.original_context = 8192;
  const auto scaled = make_rope_table(rope, {}, 0).inv_freq;
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

TEST(Rope, YarnRampWithAndWithoutRounding) {
  RopeOptions rope = rope_of(RopeScaling::kYarn, 4, 64);
  rope.magnitude = 1.13862944;
  std::vector<double> expected = {1.0,           0.237170815,    0.049999997,    0.00790569466,
                                  0.00249999994, 0.000790569466, 0.000250000012, 7.90569466e-05};
  expect_table(make_rope_table(rope, {}, 0), expected, 1.13862944);
  rope.truncate = false;
  expected[1] = 0.198583528;
  expected[2] = 0.0255952496;
  expect_table(make_rope_table(rope, {}, 0), expected, 1.13862944);
}

TEST(Rope, YarnRampOfOtherBounds) {
  RopeOptions rope = rope_of(RopeScaling::kYarn, 4, 64);
  rope.beta_fast = 8;
  rope.beta_slow = 2;
  std::vector<double> expected = {1.0,           0.197642356,    0.0250000004,   0.00790569466,
                                  0.00249999994, 0.000790569466, 0.000250000012, 7.90569466e-05};
  expect_table(make_rope_table(rope, {}, 0), expected, 1);
  // An original context below one turn: both bounds are 0, and the ramp must not divide by it.
  rope = rope_of(RopeScaling::kYarn, 4, 4);
  expected[1] = 0.079056941;
  expect_table(make_rope_table(rope, {}, 0), expected, 1);
}

TEST(Rope, LongropeChoosesItsListByTheLength) {
  RopeOptions rope = rope_of(RopeScaling::kLongRope, 1, 64);
  rope.short_factors = {1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7};
  rope.long_factors = {1.5, 2, 3, 4, 5, 6, 8, 10};
  rope.magnitude = 1.15470054;
  const std::vector<double> short_ones = {
      1.0,           0.287479758,   0.0833333358,   0.0243252143,
      0.00714285718, 0.00210818532, 0.000624999986, 0.000186016332};
  const std::vector<double> long_ones = {0.666666687,    0.158113882,   0.0333333351,
                                         0.00790569466,  0.00200000009, 0.00052704633,
                                         0.000125000006, 3.16227779e-05};
  for (const int64_t length : {0, 32, 64}) {
    expect_table(make_rope_table(rope, {}, length), short_ones, 1.15470054);
  }
  for (const int64_t length : {65, 256}) {
    expect_table(make_rope_table(rope, {}, length), long_ones, 1.15470054);
  }
}

TEST(Rope, ProportionalKeepsTheFirstFrequenciesOnly) {
  RopeOptions rope = rope_of(RopeScaling::kProportional, 2, 0);
  for (const double partial : {0.25, 0.3}) {
    rope.partial = partial;
    expect_table(make_rope_table(rope, {}, 0), {0.5, 0.158113882, 0, 0, 0, 0, 0, 0}, 1);
  }
}

TEST(Rope, DivisorsOfTheFileDivide) {
  RopeOptions rope;
  rope.rotary_dim = 4;
  const std::vector<float> divisors = {1.0F, 8.0F};
  const auto f = make_rope_table(rope, divisors, 0).inv_freq;
  EXPECT_FLOAT_EQ(f[0], 1.0F);
  EXPECT_FLOAT_EQ(f[1], 0.01F / 8);
}

TEST(Rope, OnlyDynamicAndLongropeDependOnTheLength) {
  for (const RopeScaling scaling : {RopeScaling::kNone, RopeScaling::kLinear, RopeScaling::kLlama3,
                                    RopeScaling::kYarn, RopeScaling::kProportional}) {
    EXPECT_FALSE(depends_on_length(rope_of(scaling, 2, 64)));
  }
  EXPECT_TRUE(depends_on_length(rope_of(RopeScaling::kDynamic, 2, 64)));
  EXPECT_TRUE(depends_on_length(rope_of(RopeScaling::kLongRope, 2, 64)));
}

// Equal ids must mean equal tables: dynamic has one for every length, longrope two in all.
TEST(Rope, IdNamesTheChoiceOfALength) {
  ModelConfig config;
  EXPECT_EQ(rope_id(config, 5000), 0);
  config.ropes = {rope_of(RopeScaling::kYarn, 2, 64)};
  EXPECT_EQ(rope_id(config, 5000), 0);
  config.ropes.push_back(rope_of(RopeScaling::kLongRope, 2, 128));
  EXPECT_EQ(rope_id(config, 128), 0);
  EXPECT_EQ(rope_id(config, 129), rope_id(config, 5000));
  EXPECT_NE(rope_id(config, 129), 0);
  config.ropes = {rope_of(RopeScaling::kDynamic, 2, 64)};
  EXPECT_EQ(rope_id(config, 64), rope_id(config, 1));
  EXPECT_NE(rope_id(config, 65), rope_id(config, 64));
  EXPECT_NE(rope_id(config, 65), rope_id(config, 66));
}

}  // namespace
}  // namespace fathom::model
