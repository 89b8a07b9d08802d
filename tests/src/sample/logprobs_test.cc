// Logarithms of probabilities worked out by hand. Read next: sample/logprobs.h.
#include "sample/logprobs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace fathom::sample {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

TEST(LogprobsTest, RawOnesAreTheSoftmaxOfAllLogits) {
  const std::vector<float> logits = {std::log(0.2F), std::log(0.5F), std::log(0.3F)};
  const Sampled sampled = score(logits, 0, 2);
  EXPECT_EQ(sampled.id, 0);
  EXPECT_NEAR(sampled.logprob, std::log(0.2), 1e-6);
  ASSERT_EQ(sampled.best.size(), 2U);
  EXPECT_EQ(sampled.best[0].id, 1);
  EXPECT_NEAR(sampled.best[0].logprob, std::log(0.5), 1e-6);
  EXPECT_EQ(sampled.best[1].id, 2);
}

TEST(LogprobsTest, ANaNIsAsImprobableAsMinusInfinity) {
  const std::vector<float> logits = {1.0F, std::nanf(""), 1.0F};
  EXPECT_NEAR(score(logits, 2, 0).logprob, std::log(0.5), 1e-6);
  EXPECT_EQ(score(logits, 1, 0).logprob, kNever);
  EXPECT_TRUE(score(logits, 2, 0).best.empty());
}

TEST(LogprobsTest, WhatTheChainDroppedIsNoCandidate) {
  const std::vector<Candidate> left = {{9, 1.0F}, {4, 1.0F}, {2, kNever}, {7, -200.0F}};
  Sampled sampled;
  sampled.id = 9;
  add_chain_logprobs(left, 10, sampled);
  EXPECT_NEAR(sampled.logprob, std::log(0.5), 1e-6);
  ASSERT_EQ(sampled.best.size(), 2U);  // 2 cannot be drawn, 7 weighs nothing
  EXPECT_EQ(sampled.best[0].id, 4);    // of equals the lower id first
  EXPECT_EQ(sampled.best[1].id, 9);
}

}  // namespace
}  // namespace fathom::sample
