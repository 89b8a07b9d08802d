// Workers that spin briefly for the next job and then sleep on a futex (std::atomic wait).
// Called by ops. Read next: ops/cpu_matmul.cc for a user.
#include "base/threads.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <fstream>
#include <string>
#include <thread>

#include "base/check.h"
#include "base/thread_name.h"

namespace fathom {

namespace {

constexpr auto kSpinTime = std::chrono::microseconds(50);

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

struct alignas(64) WorkerCount {
  std::atomic<uint64_t> claimed{0};
};

// A job's number stands in the upper half of a range's ticket, the next unit to claim in the lower
// half: a worker that wakes late can never take a unit of a job it has not seen.
struct alignas(64) Ticket {
  std::atomic<uint64_t> value{0};
};

constexpr int kUnitBits = 32;
constexpr uint64_t kUnitMask = (uint64_t{1} << kUnitBits) - 1;

constexpr uint64_t tag_of(uint32_t job) {
  return static_cast<uint64_t>(job) << kUnitBits;
}

}  // namespace

struct ThreadPool::State {
  explicit State(int n) : tickets(static_cast<size_t>(n)), counts(static_cast<size_t>(n)) {}

  alignas(64) std::atomic<uint32_t> job{0};  // futex word: changes when a job begins
  std::atomic<uint32_t> sleepers{0};
  std::atomic<int64_t> n_units{0};
  std::atomic<int64_t> n_ranges{1};
  std::atomic<const UnitFunction*> function{nullptr};
  std::vector<Ticket> tickets;  // of the ranges of units: one, or one for each worker
  std::vector<WorkerCount> counts;
  std::vector<std::thread> threads;
  std::atomic<bool> stop{false};
  alignas(64) std::atomic<int64_t> remaining{0};

  static int64_t range_start(int64_t range, int64_t units, int64_t ranges) {
    return units * range / ranges;
  }

  // Claims and runs units of job `number` until none is left: those of its own range first.
  void work(uint32_t number, int worker) {
    const int64_t ranges = n_ranges.load(std::memory_order_acquire);
    for (int64_t i = 0; i < ranges; ++i) {
      work_on(number, worker, (worker + i) % ranges);
    }
  }

  void work_on(uint32_t number, int worker, int64_t range) {
    const uint64_t tag = tag_of(number);
    std::atomic<uint64_t>& ticket = tickets[static_cast<size_t>(range)].value;
    uint64_t seen = ticket.load(std::memory_order_acquire);
    while ((seen & ~kUnitMask) == tag) {
      const auto unit = static_cast<int64_t>(seen & kUnitMask);
      // What follows belongs to the job that `seen` names as long as the exchange below succeeds:
      // it changes only after the tickets do.
      const int64_t limit = range_start(range + 1, n_units.load(std::memory_order_acquire),
                                        n_ranges.load(std::memory_order_acquire));
      const UnitFunction* call = function.load(std::memory_order_acquire);
      if (unit >= limit) {
        return;
      }
      if (!ticket.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel)) {
        continue;
      }
      (*call)(unit, worker);
      counts[static_cast<size_t>(worker)].claimed.fetch_add(1, std::memory_order_relaxed);
      remaining.fetch_sub(1, std::memory_order_acq_rel);
      seen = ticket.load(std::memory_order_acquire);
    }
  }

  // Spins for kSpinTime, then sleeps, until the job number differs from `last`.
  uint32_t wait_for_job(uint32_t last) {
    const auto deadline = std::chrono::steady_clock::now() + kSpinTime;
    for (int i = 0;; ++i) {
      const uint32_t now = job.load(std::memory_order_acquire);
      if (now != last) {
        return now;
      }
      pause_cpu();
      if (i % 64 == 63 && std::chrono::steady_clock::now() > deadline) {
        break;
      }
    }
    sleepers.fetch_add(1);
    job.wait(last);
    sleepers.fetch_sub(1);
    return job.load(std::memory_order_acquire);
  }

  void loop(int worker) {
    uint32_t last = 0;
    while (true) {
      last = wait_for_job(last);
      if (stop.load(std::memory_order_acquire)) {
        return;
      }
      work(last, worker);
    }
  }
};

ThreadPool::ThreadPool(int n_threads) : state_(std::make_unique<State>(std::max(1, n_threads))) {
  for (int i = 1; i < n_threads; ++i) {
    state_->threads.emplace_back([state = state_.get(), i] {
      name_this_thread("fathom-work-" + std::to_string(i));
      state->loop(i);
    });
  }
}

ThreadPool::~ThreadPool() {
  state_->stop.store(true, std::memory_order_release);
  state_->job.fetch_add(1);
  state_->job.notify_all();
  for (std::thread& thread : state_->threads) {
    thread.join();
  }
}

int ThreadPool::n_threads() const {
  return static_cast<int>(state_->counts.size());
}

void ThreadPool::run(int64_t n_units, UnitFunction function) {
  run_in(n_units, 1, function);
}

void ThreadPool::run_ranges(int64_t n_units, UnitFunction function) {
  run_in(n_units, n_threads(), function);
}

void ThreadPool::run_in(int64_t n_units, int64_t n_ranges, UnitFunction function) {
  State& state = *state_;
  FATHOM_CHECK(n_units < static_cast<int64_t>(kUnitMask));
  if (n_units <= 0) {
    return;
  }
  if (state.threads.empty() || n_units == 1) {
    for (int64_t unit = 0; unit < n_units; ++unit) {
      function(unit, 0);
    }
    state.counts[0].claimed.fetch_add(static_cast<uint64_t>(n_units), std::memory_order_relaxed);
    return;
  }
  const uint32_t number = state.job.load() + 1;
  // First the tickets: from here on no late worker of the old job can claim anything.
  for (Ticket& ticket : state.tickets) {
    ticket.value.store(tag_of(number) | kUnitMask);
  }
  state.remaining.store(n_units);
  state.function.store(&function);
  state.n_units.store(n_units);
  state.n_ranges.store(n_ranges);
  for (int64_t range = 0; range < n_ranges; ++range) {
    const int64_t first = State::range_start(range, n_units, n_ranges);
    state.tickets[static_cast<size_t>(range)].value.store(tag_of(number) |
                                                          static_cast<uint64_t>(first));
  }
  state.job.store(number);
  if (state.sleepers.load() > 0) {
    state.job.notify_all();
  }
  state.work(number, 0);
  for (int i = 0; state.remaining.load(std::memory_order_acquire) > 0; ++i) {
    pause_cpu();
    if (i % 4096 == 4095) {
      std::this_thread::yield();  // a worker lost its core to another process
    }
  }
}

std::vector<uint64_t> ThreadPool::claim_counts() const {
  std::vector<uint64_t> result;
  for (const WorkerCount& count : state_->counts) {
    result.push_back(count.claimed.load(std::memory_order_relaxed));
  }
  return result;
}

namespace {

// The CPU quota of cgroup v2 or v1 in CPUs, or a huge number.
double cgroup_cpus() {
  std::ifstream v2("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (v2 >> quota >> period && quota != "max" && period > 0) {
    return std::stod(quota) / period;
  }
  std::ifstream v1_quota("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  std::ifstream v1_period("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  double value = 0;
  if (v1_quota >> value && v1_period >> period && value > 0 && period > 0) {
    return value / period;
  }
  return 1e9;
}

}  // namespace

int usable_cpus() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  int count = 1;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) {
    count = CPU_COUNT(&mask);
  }
  return std::max(1, std::min(count, static_cast<int>(std::ceil(std::min(cgroup_cpus(), 4096.0)))));
}

}  // namespace fathom
