// A fixed pool of workers: a job is a count of units that any worker may claim, so a slow core
// costs its share only, and results never depend on who computed what.
// Called by ops, model/load. Thread rule: run() from one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace fathom {

// Non-owning reference to a callable `void(int64_t unit, int worker)`; it must outlive run().
class UnitFunction {
 public:
  template <class F>
  UnitFunction(const F& callable)  // NOLINT(google-explicit-constructor): a call-site convenience
      : object_(&callable), call_([](const void* object, int64_t unit, int worker) {
          (*static_cast<const F*>(object))(unit, worker);
        }) {}

  void operator()(int64_t unit, int worker) const { call_(object_, unit, worker); }

 private:
  const void* object_;
  void (*call_)(const void*, int64_t, int);
};

class ThreadPool {
 public:
  // `n_threads` workers in all: the caller of run() is worker 0. At least 1.
  explicit ThreadPool(int n_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int n_threads() const;

  // Calls function(unit, worker) once for every unit in [0, n_units), 0 <= worker < n_threads, and
  // returns when all are done. Units are claimed in increasing order. `function` must not throw.
  void run(int64_t n_units, UnitFunction function);

  // The same, but that each worker begins with a range of neighbouring units of its own and helps
  // others out after it: a unit often follows the one before it on the same core, which may have
  // asked for its memory. Units of a range are claimed in increasing order.
  void run_ranges(int64_t n_units, UnitFunction function);

  // Units claimed by each worker since the pool was made: [n_threads].
  [[nodiscard]] std::vector<uint64_t> claim_counts() const;

 private:
  void run_in(int64_t n_units, int64_t n_ranges, UnitFunction function);

  struct State;
  std::unique_ptr<State> state_;
};

// Threads worth starting: the affinity mask and the cgroup's CPU quota, at least 1.
int usable_cpus();

}  // namespace fathom
