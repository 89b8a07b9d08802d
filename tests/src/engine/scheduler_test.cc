// The policy alone: rank, budget, order, turns, completion.
#include "engine/scheduler.h"

#include <gtest/gtest.h>

#include <vector>

namespace fathom::engine {
namespace {

TEST(Rank, FirstComeFirstServedWithinALevel) {
  EXPECT_LT(rank_of(0, 10, 256, 1), rank_of(0, 11, 256, 2));
  EXPECT_LT(rank_of(0, 10, 256, 1), rank_of(0, 10, 256, 2));  // of one step: by id
}

TEST(Rank, ALevelIsWorthItsSteps) {
  // Priority 1 of step 0 against priority 0 of later steps.
  EXPECT_GT(rank_of(1, 0, 256, 1), rank_of(0, 255, 256, 2));
  EXPECT_LT(rank_of(1, 0, 256, 1), rank_of(0, 256, 256, 2));
  EXPECT_LT(rank_of(3, 0, 10, 1), rank_of(-1, 41, 10, 2));
  EXPECT_GT(rank_of(3, 0, 10, 1), rank_of(-1, 39, 10, 2));
}

TEST(Scheduler, GeneratedRowsComeFirst) {
  const std::vector<Pending> running = {{.n_tokens = 100},
                                        {.num_computed = 40, .n_tokens = 41, .is_generating = true},
                                        {.num_computed = 7, .n_tokens = 8, .is_generating = true}};
  const auto shares = schedule(running, 10);
  ASSERT_EQ(shares.size(), 3U);
  EXPECT_EQ(shares[0].sequence, 1U);
  EXPECT_EQ(shares[1].sequence, 2U);
  EXPECT_EQ(shares[2].sequence, 0U);
  EXPECT_EQ(shares[2].n_rows, 8);
  EXPECT_FALSE(shares[2].completes);
  EXPECT_TRUE(shares[0].completes);
}

TEST(Scheduler, BudgetIsNeverPassed) {
  const std::vector<Pending> running = {{.n_tokens = 30},
                                        {.n_tokens = 30},
                                        {.num_computed = 5, .n_tokens = 6, .is_generating = true}};
  int64_t rows = 0;
  for (const Share& share : schedule(running, 32)) {
    EXPECT_GE(share.n_rows, 1);
    rows += share.n_rows;
  }
  EXPECT_EQ(rows, 32);
}

TEST(Scheduler, NothingToDoGivesNoShares) {
  const std::vector<Pending> running = {{.num_computed = 30, .n_tokens = 30}};
  EXPECT_TRUE(schedule(running, 8).empty());
  EXPECT_TRUE(schedule({}, 8).empty());
}

TEST(Scheduler, LastChunkCompletes) {
  const std::vector<Pending> running = {{.num_computed = 96, .n_tokens = 100}};
  const auto shares = schedule(running, 512);
  ASSERT_EQ(shares.size(), 1U);
  EXPECT_EQ(shares[0].n_rows, 4);
  EXPECT_TRUE(shares[0].completes);
}

TEST(Scheduler, WhoMayNotHasNoRows) {
  const std::vector<Pending> running = {{.n_tokens = 50, .max_rows = 0},
                                        {.n_tokens = 50, .max_rows = 3}};
  const auto shares = schedule(running, 512);
  ASSERT_EQ(shares.size(), 1U);
  EXPECT_EQ(shares[0].sequence, 1U);
  EXPECT_EQ(shares[0].n_rows, 3);
  EXPECT_FALSE(shares[0].completes);
}

// More generate than the budget has rows: each gets its turn, and the prompt goes on.
TEST(Scheduler, EveryoneGetsTurnsUnderASmallBudget) {
  std::vector<Pending> running(6, {.num_computed = 9, .n_tokens = 10, .is_generating = true});
  running.push_back({.n_tokens = 40});
  std::vector<int64_t> n_turns(running.size(), 0);
  for (int64_t step = 1; step <= 12; ++step) {
    for (const Share& share : schedule(running, 4)) {
      ++n_turns[share.sequence];
      running[share.sequence].last_step = step;
    }
  }
  EXPECT_EQ(n_turns, (std::vector<int64_t>{6, 6, 6, 6, 6, 6, 12}));
}

TEST(Scheduler, ABudgetOfOneRowGoesToThoseWhoGenerate) {
  const std::vector<Pending> running = {{.n_tokens = 10},
                                        {.num_computed = 1, .n_tokens = 2, .is_generating = true}};
  const auto shares = schedule(running, 1);
  ASSERT_EQ(shares.size(), 1U);
  EXPECT_EQ(shares[0].sequence, 1U);
}

}  // namespace
}  // namespace fathom::engine
