// Every unit runs exactly once, on any number of workers, awake or asleep; also the program that
// the thread sanitizer watches.
#include "base/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

namespace fathom {
namespace {

uint64_t total_claims(const ThreadPool& pool) {
  const std::vector<uint64_t> counts = pool.claim_counts();
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

TEST(ThreadPool, RunsEveryUnitOnce) {
  for (int n_threads = 1; n_threads <= 4; ++n_threads) {
    ThreadPool pool(n_threads);
    ASSERT_EQ(pool.n_threads(), n_threads);
    for (const int64_t n_units : {0, 1, 2, 3, 64, 1000}) {
      std::vector<int> calls(static_cast<size_t>(n_units), 0);  // plain ints: a race would show
      std::atomic<bool> bad_worker{false};
      pool.run(n_units, [&](int64_t unit, int worker) {
        ++calls[static_cast<size_t>(unit)];
        if (worker < 0 || worker >= n_threads) {
          bad_worker = true;
        }
      });
      EXPECT_EQ(calls, std::vector<int>(static_cast<size_t>(n_units), 1)) << n_threads;
      EXPECT_FALSE(bad_worker);
    }
    EXPECT_EQ(total_claims(pool), 1070U);
  }
}

TEST(ThreadPool, FewerThanOneThreadMeansOne) {
  ThreadPool pool(0);
  EXPECT_EQ(pool.n_threads(), 1);
  int64_t sum = 0;
  pool.run(5, [&](int64_t unit, int) { sum += unit; });
  EXPECT_EQ(sum, 10);
}

// A worker's scratch belongs to it alone: no two units run with the same worker at a time.
TEST(ThreadPool, WorkersDoNotShareTheirNumber) {
  ThreadPool pool(3);
  std::vector<std::atomic<int>> inside(3);
  std::atomic<bool> shared{false};
  for (int round = 0; round < 50; ++round) {
    pool.run(40, [&](int64_t, int worker) {
      auto& count = inside[static_cast<size_t>(worker)];
      if (count.fetch_add(1) != 0) {
        shared = true;
      }
      count.fetch_sub(1);
    });
  }
  EXPECT_FALSE(shared);
}

// What one job writes, the next one sees, whoever ran it.
TEST(ThreadPool, ManyTinyJobsInOrder) {
  ThreadPool pool(3);
  std::vector<int64_t> values(16, 0);
  constexpr int64_t kJobs = 5000;
  for (int64_t job = 0; job < kJobs; ++job) {
    // Each unit reads its neighbour's value of the previous job.
    std::vector<int64_t> next(values.size());
    pool.run(static_cast<int64_t>(values.size()), [&](int64_t unit, int) {
      const auto from = static_cast<size_t>(unit + 1) % values.size();
      next[static_cast<size_t>(unit)] = values[from] + 1;
    });
    values.swap(next);
  }
  EXPECT_EQ(values, std::vector<int64_t>(16, kJobs));
  EXPECT_EQ(total_claims(pool), 16U * kJobs);
}

TEST(ThreadPool, SleepingWorkersWakeUp) {
  ThreadPool pool(3);
  for (int round = 0; round < 10; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(round % 2 == 0 ? 3 : 0));
    std::atomic<int> done{0};
    pool.run(7, [&](int64_t, int) { done.fetch_add(1); });
    EXPECT_EQ(done.load(), 7);
  }
}

// A worker that comes late finds a finished job and takes nothing of it; jobs of one unit never
// reach the other workers.
TEST(ThreadPool, LateWorkersTakeNothing) {
  ThreadPool pool(2);
  int64_t sum = 0;
  for (int round = 0; round < 2000; ++round) {
    pool.run(1, [&](int64_t, int worker) { sum += worker + 1; });
    std::atomic<int64_t> two{0};
    pool.run(2, [&](int64_t unit, int) { two.fetch_add(unit + 1); });
    ASSERT_EQ(two.load(), 3);
  }
  EXPECT_EQ(sum, 2000);
}

TEST(ThreadPool, SeveralWorkersClaim) {
  ThreadPool pool(2);
  const auto both_claimed = [&] {
    const auto counts = pool.claim_counts();
    return counts[0] > 0 && counts[1] > 0;
  };
  for (int round = 0; round < 200 && !both_claimed(); ++round) {
    pool.run(8, [](int64_t, int) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
  }
  EXPECT_TRUE(both_claimed());
}

TEST(ThreadPool, StartsAndStopsWithoutWork) {
  for (int round = 0; round < 20; ++round) {
    const ThreadPool pool(4);
    EXPECT_EQ(total_claims(pool), 0U);
  }
}

TEST(UsableCpus, AtLeastOneAndNotMoreThanTheMachine) {
  EXPECT_GE(usable_cpus(), 1);
  EXPECT_LE(usable_cpus(), static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
}

}  // namespace
}  // namespace fathom
