// What every operation gets: threads, kernels, worker scratch, the observer and the fault slot.
// Called by model, engine (one per process). Thread rule: one step at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/arena.h"
#include "base/observer.h"
#include "base/threads.h"
#include "kernels/table.h"
#include "ops/rows.h"

namespace fathom::ops {

// The first block of activations whose magnitude was Inf or NaN in this step.
struct NumericFault {
  int layer = -1;
  std::string name;
  int64_t row = 0;
};

class Exec {
 public:
  // `threads` and `table` must outlive the Exec; scratch for each worker comes from `pool`.
  Exec(ThreadPool& threads, const kernels::KernelTable& table, MemoryPool& pool);

  // What the constructor takes from the pool.
  static size_t scratch_bytes(int n_threads);

  [[nodiscard]] ThreadPool& threads() const { return *threads_; }

  [[nodiscard]] const kernels::KernelTable& kernels() const { return *table_; }

  // Scratch of one worker, kWorkerScratchBytes long, 64-byte aligned.
  [[nodiscard]] std::byte* scratch(int worker) const;

  void set_observer(Observer* observer) { observer_ = observer; }

  [[nodiscard]] bool observed() const { return observer_ != nullptr; }

  // Offers rows to the observer; `n_heads` > 0 gives the shape [n_rows, n_heads, n_cols / n_heads].
  void observe(const Site& site, const Rows& rows, DType type = DType::kF32, int n_heads = 0) const;

  // Remembers the first fault of the step.
  void report_fault(const Site& site, int64_t row);

  // The fault since the last call, if any.
  std::optional<NumericFault> take_fault();

 private:
  ThreadPool* threads_;
  const kernels::KernelTable* table_;
  std::byte* scratch_ = nullptr;
  Observer* observer_ = nullptr;
  std::optional<NumericFault> fault_;
};

}  // namespace fathom::ops
