// Tests of base/threads: every unit once, all workers take part, many short jobs, uneven units.
#include "base/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

namespace fathom {

namespace {

class ThreadPoolTest : public testing::TestWithParam<int> {};

TEST_P(ThreadPoolTest, EveryUnitRunsExactlyOnce) {
  ThreadPool pool(GetParam());
  ASSERT_EQ(pool.n_threads(), GetParam());
  for (const int64_t n_units : {0, 1, 2, 3, 17, 1000}) {
    std::vector<std::atomic<int>> counts(static_cast<size_t>(n_units));
    std::atomic<bool> in_range{true};
    pool.run(n_units, [&](int64_t unit, int worker) {
      counts[static_cast<size_t>(unit)].fetch_add(1);
      if (worker < 0 || worker >= GetParam()) {
        in_range = false;
      }
    });
    for (const auto& count : counts) {
      ASSERT_EQ(count.load(), 1);
    }
    EXPECT_TRUE(in_range);
  }
}

TEST_P(ThreadPoolTest, RangesRunEveryUnitExactlyOnce) {
  ThreadPool pool(GetParam());
  for (int round = 0; round < 50; ++round) {
    for (const int64_t n_units : {0, 1, 2, 3, 7, 17, 1000}) {
      std::vector<std::atomic<int>> counts(static_cast<size_t>(n_units));
      const auto count = [&](int64_t unit, int) { counts[static_cast<size_t>(unit)].fetch_add(1); };
      pool.run_ranges(n_units, count);
      pool.run(n_units, count);
      for (const auto& seen : counts) {
        ASSERT_EQ(seen.load(), 2);
      }
    }
  }
}

TEST_P(ThreadPoolTest, ManyShortJobsSeeEachOthersResults) {
  ThreadPool pool(GetParam());
  std::vector<int64_t> values(64, 0);
  for (int64_t job = 1; job <= 2000; ++job) {
    pool.run(64, [&](int64_t unit, int) { values[static_cast<size_t>(unit)] += job; });
  }
  EXPECT_EQ(std::accumulate(values.begin(), values.end(), int64_t{0}), 64 * 2000 * 2001 / 2);
}

TEST_P(ThreadPoolTest, ClaimCountsAddUpToTheUnits) {
  ThreadPool pool(GetParam());
  pool.run(100, [](int64_t, int) {});
  pool.run(1, [](int64_t, int) {});
  const auto counts = pool.claim_counts();
  EXPECT_EQ(counts.size(), static_cast<size_t>(GetParam()));
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), uint64_t{0}), 101U);
}

TEST_P(ThreadPoolTest, WorkersWakeAfterSleeping) {
  ThreadPool pool(GetParam());
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // longer than workers spin
    std::atomic<int> count{0};
    pool.run(50, [&](int64_t, int) { count.fetch_add(1); });
    EXPECT_EQ(count.load(), 50);
  }
}

INSTANTIATE_TEST_SUITE_P(Counts, ThreadPoolTest, testing::Values(1, 2, 3, 8));

// Two workers that wait for each other begin at the two ends of their ranges.
TEST(ThreadPool, EveryWorkerBeginsWithItsOwnRange) {
  ThreadPool pool(2);
  std::atomic<int> arrived{0};
  std::vector<std::atomic<int64_t>> first(2);
  first[0] = first[1] = -1;
  pool.run_ranges(10, [&](int64_t unit, int worker) {
    int64_t none = -1;
    first[static_cast<size_t>(worker)].compare_exchange_strong(none, unit);
    arrived.fetch_add(1);
    while (arrived.load() < 2) {
      std::this_thread::yield();
    }
  });
  EXPECT_EQ(first[0], 0);
  EXPECT_EQ(first[1], 5);
}

// A worker without units of its own helps out.
TEST(ThreadPool, RangesOfASlowWorkerAreTakenOver) {
  ThreadPool pool(2);
  std::atomic<int> done{0};
  pool.run_ranges(10, [&](int64_t unit, int) {
    while (unit == 0 && done.load() < 9) {
      std::this_thread::yield();
    }
    done.fetch_add(1);
  });
  EXPECT_EQ(done, 10);
}

// A unit that waits for another worker's unit ends only if two workers run at the same time.
TEST(ThreadPool, WorkersRunAtTheSameTime) {
  ThreadPool pool(2);
  std::atomic<int> arrived{0};
  pool.run(2, [&](int64_t, int) {
    arrived.fetch_add(1);
    while (arrived.load() < 2) {
      std::this_thread::yield();
    }
  });
  const auto counts = pool.claim_counts();
  EXPECT_EQ(counts[0], 1U);
  EXPECT_EQ(counts[1], 1U);
}

TEST(ThreadPool, ASlowUnitCostsItsShareOnly) {
  ThreadPool pool(2);
  std::vector<int> worker_of(21, -1);
  std::atomic<int> done{0};
  pool.run(21, [&](int64_t unit, int worker) {
    worker_of[static_cast<size_t>(unit)] = worker;
    while (unit == 0 && done.load() < 20) {
      std::this_thread::yield();  // the slow unit: it ends when all others have
    }
    done.fetch_add(1);
  });
  for (size_t unit = 2; unit < worker_of.size(); ++unit) {
    EXPECT_EQ(worker_of[unit], worker_of[1]);
  }
  EXPECT_NE(worker_of[0], worker_of[1]);
}

TEST(ThreadPool, CountsBelowOneMeanOne) {
  EXPECT_EQ(ThreadPool(0).n_threads(), 1);
  EXPECT_EQ(ThreadPool(-3).n_threads(), 1);
}

TEST(ThreadPool, UsableCpusIsWhatTheMachineCanGive) {
  EXPECT_GE(usable_cpus(), 1);
  EXPECT_LE(usable_cpus(), 4096);
}

}  // namespace

}  // namespace fathom
