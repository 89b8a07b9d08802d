// Words and masks by hand. Read next: sample/masks.h.
#include "sample/masks.h"

#include <gtest/gtest.h>

#include <limits>

namespace fathom::sample {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

using Ids = std::vector<int32_t>;

Ids ends_of(const std::vector<Ids>& words, const Ids& answer) {
  Ids ends;
  find_word_ends(words, answer, ends);
  return ends;
}

TEST(MasksTest, AWordOfOneTokenAlwaysEnds) {
  EXPECT_EQ(ends_of({{7}}, {}), Ids{7});
  EXPECT_EQ(ends_of({{7}}, {1, 2}), Ids{7});
}

TEST(MasksTest, ALongerWordEndsOnlyBehindItsBeginning) {
  const std::vector<Ids> words = {{4, 5, 6}, {5, 9}};
  EXPECT_EQ(ends_of(words, {}), Ids{});
  EXPECT_EQ(ends_of(words, {4}), Ids{});
  EXPECT_EQ(ends_of(words, {5}), Ids{9});  // and not 6: 4 is missing
  EXPECT_EQ(ends_of(words, {1, 4, 5}), (Ids{6, 9}));
  EXPECT_EQ(ends_of(words, {4, 5, 1}), Ids{});
}

TEST(MasksTest, AMaskTakesItsIdsAndNoOthers) {
  std::vector<Candidate> candidates = {{1, 1.0F}, {3, 2.0F}, {8, 3.0F}};
  EXPECT_TRUE(try_mask(Ids{8, 2, 9, 1}, candidates));
  EXPECT_EQ(candidates, (std::vector<Candidate>{{1, kNever}, {3, 2.0F}, {8, kNever}}));
}

TEST(MasksTest, AMaskThatLeavesNothingChangesNothing) {
  const std::vector<Candidate> before = {{1, 1.0F}, {3, 2.0F}, {8, kNever}};
  std::vector<Candidate> candidates = before;
  EXPECT_FALSE(try_mask(Ids{3, 1, 3}, candidates));
  EXPECT_EQ(candidates, before);
}

}  // namespace
}  // namespace fathom::sample
