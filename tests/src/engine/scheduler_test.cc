// The policy alone: budget, order, completion.
#include "engine/scheduler.h"

#include <gtest/gtest.h>

namespace fathom::engine {
namespace {

TEST(Scheduler, GeneratedRowsComeFirst) {
  const Pending running[] = {{0, 100, false}, {40, 41, true}, {7, 8, true}};
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
  const Pending running[] = {{0, 30, false}, {0, 30, false}, {5, 6, true}};
  int64_t rows = 0;
  for (const Share& share : schedule(running, 32)) {
    EXPECT_GE(share.n_rows, 1);
    rows += share.n_rows;
  }
  EXPECT_EQ(rows, 32);
}

TEST(Scheduler, NothingToDoGivesNoShares) {
  const Pending running[] = {{30, 30, false}};
  EXPECT_TRUE(schedule(running, 8).empty());
  EXPECT_TRUE(schedule({}, 8).empty());
}

TEST(Scheduler, LastChunkCompletes) {
  const Pending running[] = {{96, 100, false}};
  const auto shares = schedule(running, 512);
  ASSERT_EQ(shares.size(), 1U);
  EXPECT_EQ(shares[0].n_rows, 4);
  EXPECT_TRUE(shares[0].completes);
}

}  // namespace
}  // namespace fathom::engine
