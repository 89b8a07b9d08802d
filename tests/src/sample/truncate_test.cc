// Cuts on distributions small enough to do by hand, and against a full sort on large ones.
// Read next: sample/truncate.h.
#include "sample/truncate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sample/random.h"

namespace fathom::sample {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Probabilities 0.5, 0.25, 0.125, 0.125 for ids 2, 0, 1, 3.
std::vector<Candidate> quarters() {
  const auto log_of = [](double p) { return static_cast<float>(std::log(p)); };
  return {{0, log_of(0.25)}, {1, log_of(0.125)}, {2, log_of(0.5)}, {3, log_of(0.125)}};
}

std::vector<int32_t> ids_of(const std::vector<Candidate>& candidates) {
  std::vector<int32_t> ids;
  for (const auto& [id, value] : candidates) {
    ids.push_back(id);
  }
  return ids;
}

// Values with many ties: 97 different ones.
std::vector<Candidate> many(int32_t count) {
  std::vector<Candidate> candidates;
  for (int32_t id = 0; id < count; ++id) {
    const auto step = static_cast<int>(uniform(3, 0, id) * 97);
    candidates.emplace_back(id, static_cast<float>(step) * 0.125F);
  }
  return candidates;
}

TEST(TruncateTest, WeightsOfManyAreThoseOfEach) {
  std::vector<Candidate> candidates = many(601);
  candidates[5].second = -kInfinity;
  candidates[6].second = -1000.0F;
  for (const float best : {best_value(candidates), kInfinity}) {
    std::vector<double> weights(candidates.size());
    weights_of(candidates.data(), candidates.size(), best, weights.data());
    double sum = 0.0;
    for (size_t i = 0; i < candidates.size(); ++i) {
      ASSERT_EQ(weights[i], weight_of(candidates[i].second, best)) << i;
      sum += weights[i];
    }
    EXPECT_EQ(total_weight(candidates, best), sum);
  }
}

TEST(TruncateTest, TopKKeepsTheBestAndBreaksTiesByLowerId) {
  auto candidates = quarters();
  keep_top_k(candidates, 3);
  EXPECT_EQ(ids_of(candidates), (std::vector<int32_t>{2, 0, 1}));
}

TEST(TruncateTest, TopKOffOrLargerThanTheVocabularyChangesNothing) {
  for (const int k : {0, -1, 4, 100}) {
    auto candidates = quarters();
    keep_top_k(candidates, k);
    EXPECT_EQ(ids_of(candidates), (std::vector<int32_t>{0, 1, 2, 3})) << k;
  }
}

TEST(TruncateTest, TopKEqualsAFullSortForEveryMethod) {
  for (const int k : {1, 2, 40, 1024, 1025, 4000, 4999}) {
    auto candidates = many(5000);
    auto sorted = candidates;
    std::sort(sorted.begin(), sorted.end(), ranks_before);
    sorted.resize(static_cast<size_t>(k));
    keep_top_k(candidates, k);
    EXPECT_EQ(candidates, sorted) << k;
  }
}

TEST(TruncateTest, TopPKeepsTheFewestThatReachP) {
  const std::vector<std::pair<float, std::vector<int32_t>>> cases = {
      {0.01F, {2}},       {0.49F, {2}},          {0.51F, {2, 0}},     {0.74F, {2, 0}},
      {0.76F, {2, 0, 1}}, {0.88F, {2, 0, 1, 3}}, {1.0F, {0, 1, 2, 3}}};
  for (const auto& [p, expected] : cases) {
    auto candidates = quarters();
    keep_top_p(candidates, p);
    EXPECT_EQ(ids_of(candidates), expected) << p;
  }
}

TEST(TruncateTest, TopPOverManyEqualsAFullSort) {
  for (const float p : {0.05F, 0.5F, 0.9F, 0.999F}) {
    auto candidates = many(5000);
    auto sorted = candidates;
    std::sort(sorted.begin(), sorted.end(), ranks_before);
    double total = 0;
    for (const auto& [id, value] : sorted) {
      total += std::exp(static_cast<double>(value));
    }
    double sum = 0;
    size_t kept = 0;
    while (sum < static_cast<double>(p) * total) {
      sum += std::exp(static_cast<double>(sorted[kept++].second));
    }
    keep_top_p(candidates, p);
    ASSERT_NEAR(static_cast<double>(candidates.size()), static_cast<double>(kept), 1.0) << p;
    sorted.resize(candidates.size());
    EXPECT_EQ(candidates, sorted) << p;
  }
}

TEST(TruncateTest, MinPIsRelativeToTheBest) {
  const std::vector<std::pair<float, std::vector<int32_t>>> cases = {
      {0.0F, {0, 1, 2, 3}}, {0.24F, {0, 1, 2, 3}}, {0.26F, {0, 2}},
      {0.49F, {0, 2}},      {0.51F, {2}},          {1.0F, {2}}};
  for (const auto& [min_p, expected] : cases) {
    auto candidates = quarters();
    keep_min_p(candidates, min_p);
    EXPECT_EQ(ids_of(candidates), expected) << min_p;
  }
}

TEST(TruncateTest, WeightsOfExtremesAreFinite) {
  EXPECT_EQ(weight_of(3.0F, 3.0F), 1.0);
  EXPECT_EQ(weight_of(-kInfinity, 3.0F), 0.0);
  EXPECT_EQ(weight_of(-100.0F, 0.0F), 0.0);
  EXPECT_EQ(weight_of(1.0F, kInfinity), 0.0);
  EXPECT_EQ(weight_of(kInfinity, kInfinity), 1.0);
  EXPECT_EQ(weight_of(-kInfinity, -kInfinity), 1.0);
  EXPECT_NEAR(weight_of(1.0F, 2.0F), std::exp(-1.0), 1e-15);
}

TEST(TruncateTest, EveryCutLeavesAtLeastOne) {
  for (const float value : {-kInfinity, kInfinity, 0.0F}) {
    std::vector<Candidate> candidates(5, {0, value});
    keep_min_p(candidates, 1.0F);
    keep_top_p(candidates, 1e-9F);
    keep_top_k(candidates, 1);
    EXPECT_EQ(candidates.size(), 1U);
  }
}

}  // namespace
}  // namespace fathom::sample
