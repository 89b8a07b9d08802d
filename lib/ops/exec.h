// What every operation gets: threads, kernels, worker scratch, the observer and the fault slot.
// Called by model, engine (one per process). Thread rule: one step at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/observer.h"
#include "base/threads.h"
#include "kernels/table.h"
#include "ops/kernel_choice.h"
#include "ops/rows.h"

namespace fathom::ops {

// Scratch of one worker: the kernels' own part first, then three blocks of 64 query rows with the
// largest head (queries, one span's output, the running output) and a line of state per row. The
// matrix products put their C block of 256 rows x 64 columns in the same place.
inline constexpr int kMaxHeadDim = 576;
inline constexpr int kMaxAttendRows = 64;
inline constexpr size_t kAttendBlockBytes = sizeof(float) * kMaxAttendRows * kMaxHeadDim;
inline constexpr size_t kKernelScratchBytes = kernels::kAttendScratchBytes;
inline constexpr size_t kWorkerScratchBytes =
    kKernelScratchBytes + 3 * kAttendBlockBytes + size_t{64} * kMaxAttendRows;

// The first values of this step that were Inf or NaN: a block of activations, or logits.
struct NumericFault {
  int layer = -1;
  std::string name;
  int64_t row = 0;  // of the batch
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

  // What a worker knows of the two kernels for this type and about so many rows.
  [[nodiscard]] KernelChoice& choice(int worker, DType type, int64_t n_rows) const;

  void set_observer(Observer* observer) { observer_ = observer; }

  [[nodiscard]] bool observed() const { return observer_ != nullptr; }

  // Offers rows to the observer; `n_heads` > 0 gives the shape [n_rows, n_heads, n_cols / n_heads].
  void observe(const Site& site, const Rows& rows, DType type = DType::kF32, int n_heads = 0) const;

  // Remembers the first fault of the step: the lowest row of the first operation that had one,
  // whatever the order in which workers report. `row` is one of the site's tensor. Thread rule: any
  // worker.
  void report_fault(const Site& site, int64_t row);

  // The fault since the last call, if any.
  std::optional<NumericFault> take_fault();

 private:
  ThreadPool* threads_;
  const kernels::KernelTable* table_;
  std::byte* scratch_ = nullptr;
  // [n_threads][kNumDTypes][2: few or many of the many]; they decide who computes, never what
  mutable std::vector<KernelChoice> choices_;
  Observer* observer_ = nullptr;
  std::mutex fault_mutex_;
  std::optional<NumericFault> fault_;
};

}  // namespace fathom::ops
