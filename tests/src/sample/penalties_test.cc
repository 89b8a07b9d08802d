// Penalties worked out by hand. Read next: sample/penalties.h.
#include "sample/penalties.h"

#include <gtest/gtest.h>

namespace fathom::sample {
namespace {

std::vector<Candidate> four() {
  return {{0, 2.0F}, {1, -2.0F}, {2, 0.0F}, {3, 1.0F}};
}

std::vector<float> values_after(const Penalties& penalties, const std::vector<int32_t>& history) {
  auto candidates = four();
  std::vector<int32_t> counts(4, 0);
  apply_penalties(penalties, history, counts, candidates);
  EXPECT_EQ(counts, std::vector<int32_t>(4, 0));
  std::vector<float> values;
  for (const auto& [id, value] : candidates) {
    values.push_back(value);
  }
  return values;
}

TEST(PenaltiesTest, RepeatDividesPositiveAndMultipliesNegative) {
  EXPECT_EQ(values_after({.repeat = 2.0F}, {0, 1, 2}),
            (std::vector<float>{1.0F, -4.0F, 0.0F, 1.0F}));
}

TEST(PenaltiesTest, RepeatActsOnceHoweverOftenATokenCame) {
  EXPECT_EQ(values_after({.repeat = 2.0F}, {0, 0, 0}),
            (std::vector<float>{1.0F, -2.0F, 0.0F, 1.0F}));
}

TEST(PenaltiesTest, PresenceCountsOnceFrequencyEveryTime) {
  EXPECT_EQ(values_after({.presence = 0.5F, .frequency = 0.25F}, {3, 3, 3, 1}),
            (std::vector<float>{2.0F, -2.75F, 0.0F, -0.25F}));
}

TEST(PenaltiesTest, RepeatComesBeforeTheOthers) {
  EXPECT_EQ(values_after({.repeat = 2.0F, .presence = 1.0F}, {0}),
            (std::vector<float>{0.0F, -2.0F, 0.0F, 1.0F}));
}

TEST(PenaltiesTest, OnlyTheWindowCounts) {
  const std::vector<int32_t> history = {0, 1, 2, 3};
  EXPECT_EQ(values_after({.presence = 1.0F, .window = 2}, history),
            (std::vector<float>{2.0F, -2.0F, -1.0F, 0.0F}));
  EXPECT_EQ(values_after({.presence = 1.0F, .window = -1}, history),
            (std::vector<float>{1.0F, -3.0F, -1.0F, 0.0F}));
  EXPECT_EQ(values_after({.presence = 1.0F, .window = 0}, history),
            (std::vector<float>{2.0F, -2.0F, 0.0F, 1.0F}));
}

TEST(PenaltiesTest, IdsOutsideTheVocabularyArePassedOver) {
  EXPECT_EQ(values_after({.presence = 1.0F}, {-1, 4, 1000000, 0}),
            (std::vector<float>{1.0F, -2.0F, 0.0F, 1.0F}));
}

}  // namespace
}  // namespace fathom::sample
