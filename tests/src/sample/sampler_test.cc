// Whole chains: by hand, by distribution, by seed, and on values that no model should give.
// Read next: sample/sampler.cc.
#include "sample/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "sample/random.h"

namespace fathom::sample {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Everything off: the plain distribution.
SamplingParams plain() {
  SamplingParams params;
  params.temperature = 1.0F;
  params.top_k = 0;
  params.top_p = 1.0F;
  params.min_p = 0.0F;
  return params;
}

SamplingParams greedy() {
  SamplingParams params = plain();
  params.temperature = 0.0F;
  return params;
}

int32_t draw_one(const SamplingParams& params, const std::vector<float>& logits,
                 const std::vector<int32_t>& history = {}, int64_t position = 0) {
  return Sampler(params, std::ssize(logits)).sample(logits, history, position, 0).id;
}

// Chi-square of draws with seeds 0 ... n - 1 against `expected` probabilities.
double chi_square(SamplingParams params, const std::vector<float>& logits,
                  const std::vector<double>& expected, int n_seeds) {
  std::vector<int> counts(logits.size(), 0);
  for (int seed = 0; seed < n_seeds; ++seed) {
    params.seed = static_cast<uint64_t>(seed);
    ++counts[static_cast<size_t>(draw_one(params, logits))];
  }
  double sum = 0;
  for (size_t id = 0; id < logits.size(); ++id) {
    const double wanted = expected[id] * n_seeds;
    if (wanted == 0) {
      EXPECT_EQ(counts[id], 0) << "token " << id << " was cut";
    } else {
      sum += std::pow(counts[id] - wanted, 2) / wanted;
    }
  }
  return sum;
}

std::vector<float> logs_of(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) {
    logits.push_back(static_cast<float>(std::log(p) + 3.0));
  }
  return logits;
}

TEST(SamplerTest, GreedyTakesTheBestAndTheLowerIdOfEquals) {
  EXPECT_EQ(draw_one(greedy(), {1.0F, 3.0F, 2.0F}), 1);
  EXPECT_EQ(draw_one(greedy(), {1.0F, 3.0F, 3.0F}), 1);
  EXPECT_EQ(draw_one(greedy(), {0.0F, -0.0F}), 0);
}

TEST(SamplerTest, GreedyHonoursBiasAndPenalties) {
  SamplingParams params = greedy();
  params.logit_bias = {{1, -5.0F}};
  EXPECT_EQ(draw_one(params, {1.0F, 3.0F, 2.0F}), 2);
  params.presence_penalty = 2.0F;
  EXPECT_EQ(draw_one(params, {1.0F, 3.0F, 2.0F}, {2}), 0);
  params.chain = {Step::kTemperature};  // without the step, no penalty
  EXPECT_EQ(draw_one(params, {1.0F, 3.0F, 2.0F}, {2}), 2);
}

TEST(SamplerTest, PlainDrawsFollowTheDistribution) {
  const std::vector<double> p = {0.4, 0.3, 0.15, 0.1, 0.05};
  EXPECT_LT(chi_square(plain(), logs_of(p), p, 20000), 18.47);  // 4 degrees, p = 0.001
}

TEST(SamplerTest, TemperatureSharpensAndFlattens) {
  const std::vector<double> p = {0.4, 0.3, 0.15, 0.1, 0.05};
  for (const float temperature : {0.5F, 2.0F}) {
    std::vector<double> expected;
    double total = 0;
    for (const double value : p) {
      expected.push_back(std::pow(value, 1.0 / static_cast<double>(temperature)));
      total += expected.back();
    }
    for (double& value : expected) {
      value /= total;
    }
    SamplingParams params = plain();
    params.temperature = temperature;
    EXPECT_LT(chi_square(params, logs_of(p), expected, 20000), 18.47) << temperature;
  }
}

TEST(SamplerTest, CutsRenormalizeWhatIsLeft) {
  const std::vector<double> p = {0.1, 0.4, 0.05, 0.3, 0.15};
  SamplingParams params = plain();
  params.top_k = 3;
  EXPECT_LT(chi_square(params, logs_of(p), {0, 0.4 / 0.85, 0, 0.3 / 0.85, 0.15 / 0.85}, 10000),
            13.82);  // 2 degrees
  params = plain();
  params.top_p = 0.6F;
  EXPECT_LT(chi_square(params, logs_of(p), {0, 4.0 / 7, 0, 3.0 / 7, 0}, 10000), 10.83);
  params = plain();
  params.min_p = 0.3F;  // 0.12 and more
  EXPECT_LT(chi_square(params, logs_of(p), {0, 0.4 / 0.85, 0, 0.3 / 0.85, 0.15 / 0.85}, 10000),
            13.82);
}

// top_k 2 of {.4, .3, .2, .1} leaves {4/7, 3/7}; top_p 0.5 of that keeps one. The other way round
// top_p 0.5 keeps two, which top_k 2 leaves.
TEST(SamplerTest, TheOrderOfTheChainMatters) {
  const std::vector<double> p = {0.4, 0.3, 0.2, 0.1};
  SamplingParams params = plain();
  params.top_k = 2;
  params.top_p = 0.5F;
  params.chain = {Step::kTopK, Step::kTopP};
  EXPECT_LT(chi_square(params, logs_of(p), {1, 0, 0, 0}, 500), 1.0);
  params.chain = {Step::kTopP, Step::kTopK};
  EXPECT_LT(chi_square(params, logs_of(p), {4.0 / 7, 3.0 / 7, 0, 0}, 5000), 10.83);
}

TEST(SamplerTest, TemperatureBeforeACutWidensIt) {
  const std::vector<double> p = {0.9, 0.1};
  SamplingParams params = plain();
  params.temperature = 1000.0F;  // nearly even: 0.501, 0.499
  params.top_p = 0.7F;
  params.chain = {Step::kTopP, Step::kTemperature};
  EXPECT_LT(chi_square(params, logs_of(p), {1, 0}, 500), 1.0);
  params.chain = {Step::kTemperature, Step::kTopP};
  EXPECT_LT(chi_square(params, logs_of(p), {0.5, 0.5}, 2000), 10.83);
}

TEST(SamplerTest, SeedsRepeatAndDiffer) {
  std::vector<float> logits(1000);
  for (size_t id = 0; id < logits.size(); ++id) {
    logits[id] = static_cast<float>(uniform(5, 0, static_cast<int64_t>(id))) * 4.0F;
  }
  const auto text_of = [&](uint64_t seed, uint32_t choice) {
    SamplingParams params = plain();
    params.temperature = 1.2F;
    params.seed = seed;
    Sampler sampler(params, std::ssize(logits));
    std::vector<int32_t> ids;
    for (int64_t position = 0; position < 32; ++position) {
      ids.push_back(sampler.sample(logits, ids, position, choice).id);
    }
    return ids;
  };
  EXPECT_EQ(text_of(42, 0), text_of(42, 0));
  EXPECT_NE(text_of(42, 0), text_of(43, 0));
  EXPECT_NE(text_of(42, 0), text_of(42, 1));
}

TEST(SamplerTest, LogprobsAreOfTheRawDistribution) {
  const std::vector<double> p = {0.1, 0.4, 0.05, 0.3, 0.15};
  SamplingParams params = plain();
  params.temperature = 0.1F;
  params.top_k = 1;
  params.logit_bias = {{0, 100.0F}};  // always drawn
  params.repeat_penalty = 3.0F;
  params.n_logprobs = 3;
  const auto logits = logs_of(p);
  const Sampled sampled = Sampler(params, 5).sample(logits, std::vector<int32_t>{1}, 1, 0);
  EXPECT_EQ(sampled.id, 0);
  EXPECT_NEAR(sampled.logprob, std::log(0.1), 1e-5);
  ASSERT_EQ(sampled.best.size(), 3U);
  EXPECT_EQ(sampled.best[0].id, 1);
  EXPECT_EQ(sampled.best[1].id, 3);
  EXPECT_EQ(sampled.best[2].id, 4);
  EXPECT_NEAR(sampled.best[0].logprob, std::log(0.4), 1e-5);
}

TEST(SamplerTest, AllLogprobsSumToOne) {
  SamplingParams params = greedy();
  params.n_logprobs = 5000;
  std::vector<float> logits(5000);
  for (size_t id = 0; id < logits.size(); ++id) {
    logits[id] = static_cast<float>(uniform(9, 0, static_cast<int64_t>(id))) * 20.0F;
  }
  const Sampled sampled = Sampler(params, 5000).sample(logits, {}, 0, 0);
  double sum = 0;
  for (const TokenLogprob& entry : sampled.best) {
    sum += std::exp(static_cast<double>(entry.logprob));
  }
  EXPECT_NEAR(sum, 1.0, 1e-4);
  params.n_logprobs = -1;
  EXPECT_TRUE(Sampler(params, 5000).sample(logits, {}, 0, 0).best.empty());
}

TEST(SamplerTest, BadValuesNeitherCrashNorWin) {
  for (const bool is_greedy : {false, true}) {
    SamplingParams params = is_greedy ? greedy() : plain();
    params.top_p = 0.9F;
    params.min_p = 0.1F;
    params.n_logprobs = 2;
    const auto draw = [&](const std::vector<float>& logits) {
      return Sampler(params, std::ssize(logits)).sample(logits, {}, 0, 0).id;
    };
    EXPECT_EQ(draw({kNan, 1.0F, kNan}), 1);
    EXPECT_EQ(draw({-kInfinity, -kInfinity, -3.0F}), 2);
    EXPECT_EQ(draw({1.0F, kInfinity, 2.0F}), 1);
    EXPECT_LT(draw({kNan, kNan, kNan}), 3);
    EXPECT_LT(draw({-kInfinity, -kInfinity}), 2);
  }
}

TEST(SamplerTest, ATinyTemperatureIsNearlyGreedy) {
  SamplingParams params = plain();
  params.temperature = 1e-40F;
  for (int64_t position = 0; position < 50; ++position) {
    EXPECT_EQ(draw_one(params, {5.0F, 7.0F, 6.5F, -3.0F}, {}, position), 1);
  }
}

TEST(SamplerTest, ForbiddenTokensAreNeverDrawn) {
  SamplingParams params = plain();
  params.logit_bias = {{0, -kInfinity}};
  for (int64_t position = 0; position < 200; ++position) {
    EXPECT_NE(draw_one(params, {10.0F, 1.0F, 1.0F}, {}, position), 0);
  }
}

TEST(SamplerTest, OnlyAllowedTokensAreDrawn) {
  for (const bool is_greedy : {false, true}) {
    SamplingParams params = is_greedy ? greedy() : plain();
    params.allowed_ids = {3, 1, 3};
    params.logit_bias = {{0, 50.0F}, {3, 0.5F}};
    params.presence_penalty = 0.25F;
    for (int64_t position = 0; position < 50; ++position) {
      const int32_t id = draw_one(params, {9.0F, 1.0F, 8.0F, 1.0F}, {3}, position);
      EXPECT_TRUE(id == 1 || id == 3);
      EXPECT_TRUE(!is_greedy || id == 3);  // 1 + 0.5 - 0.25 is above 1
    }
    EXPECT_EQ(draw_one(params, {9.0F, kNan, 8.0F, -kInfinity}) % 2, 1);  // even then
  }
}

TEST(SamplerTest, WordsToAvoidAreOfTheAnswerAlone) {
  SamplingParams params = greedy();
  params.bad_words = {{2, 1}, {0}};
  const std::vector<float> logits = {9.0F, 5.0F, 1.0F};
  Sampler sampler(params, 3);
  const std::vector<int32_t> history = {1, 2};
  EXPECT_EQ(sampler.sample(logits, {.history = history, .n_prompt = 2}).id, 1);
  EXPECT_EQ(sampler.sample(logits, {.history = history, .n_prompt = 1}).id, 2);
}

TEST(SamplerTest, MaskedEndsWaitAndGiveWayLast) {
  SamplingParams params = greedy();
  Sampler sampler(params, 3);
  const std::vector<float> logits = {9.0F, 5.0F, 1.0F};
  const std::vector<int32_t> ends = {0};
  EXPECT_EQ(sampler.sample(logits, {.history = {}, .masked = ends}).id, 1);
  EXPECT_EQ(sampler.sample(logits, Place{}).id, 0);
  params.bad_words = {{1}, {2}};  // nothing would be left: the words give way
  EXPECT_EQ(Sampler(params, 3).sample(logits, {.history = {}, .masked = ends}).id, 1);
  params.bad_words.clear();
  params.allowed_ids = {0};
  EXPECT_EQ(Sampler(params, 3).sample(logits, {.history = {}, .masked = ends}).id, 0);
}

TEST(SamplerTest, PresenceAndFrequencyMayLookAtTheAnswerAlone) {
  SamplingParams params = greedy();
  params.presence_penalty = 3.0F;
  const std::vector<float> logits = {2.0F, 1.0F};
  const std::vector<int32_t> history = {0};
  const Place in_prompt = {.history = history, .n_prompt = 1};
  EXPECT_EQ(Sampler(params, 2).sample(logits, in_prompt).id, 1);
  params.penalize_answer_only = true;
  EXPECT_EQ(Sampler(params, 2).sample(logits, in_prompt).id, 0);
  EXPECT_EQ(Sampler(params, 2).sample(logits, {.history = history}).id, 1);
  params.presence_penalty = 0.0F;
  params.repeat_penalty = 4.0F;  // looks at the prompt as well
  EXPECT_EQ(Sampler(params, 2).sample(logits, in_prompt).id, 1);
}

TEST(SamplerTest, ChainLogprobsAreOfWhatWasDrawnFrom) {
  SamplingParams params = plain();
  params.top_k = 2;
  params.n_logprobs = 5;
  params.chain_logprobs = true;
  const auto logits = logs_of({0.1, 0.6, 0.3});
  const Sampled sampled = Sampler(params, 3).sample(logits, Place{});
  ASSERT_EQ(sampled.best.size(), 2U);
  EXPECT_NEAR(sampled.best[0].logprob, std::log(0.6 / 0.9), 1e-5);
  EXPECT_NEAR(sampled.best[1].logprob, std::log(0.3 / 0.9), 1e-5);
  EXPECT_EQ(sampled.logprob, sampled.best[sampled.id == 1 ? 0 : 1].logprob);
  params.temperature = 0.0F;
  const Sampled best = Sampler(params, 3).sample(logits, Place{});
  EXPECT_EQ(best.id, 1);
  EXPECT_EQ(best.logprob, 0.0F);
  ASSERT_EQ(best.best.size(), 1U);
  EXPECT_EQ(best.best[0].id, 1);
}

}  // namespace
}  // namespace fathom::sample
