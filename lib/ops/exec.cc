// Worker scratch, the observer's call and the fault slot.
// Called by every operation. Read next: ops/cpu_backend.h.
#include "ops/exec.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/check.h"

namespace fathom::ops {

Exec::Exec(ThreadPool& threads, const kernels::KernelTable& table, MemoryPool& pool)
    : threads_(&threads), table_(&table) {
  scratch_ = pool.allocate(scratch_bytes(threads.n_threads())).data();
  choices_.resize(static_cast<size_t>(threads.n_threads()) * kNumDTypes * 2);
}

size_t Exec::scratch_bytes(int n_threads) {
  return MemoryPool::padded_bytes(kWorkerScratchBytes *
                                  static_cast<size_t>(std::max(1, n_threads)));
}

std::byte* Exec::scratch(int worker) const {
  FATHOM_DCHECK(worker >= 0 && worker < threads_->n_threads());
  return scratch_ + kWorkerScratchBytes * static_cast<size_t>(worker);
}

KernelChoice& Exec::choice(int worker, DType type, int64_t n_rows) const {
  constexpr int64_t kManyRows = 64;
  const auto place = static_cast<size_t>(worker) * kNumDTypes + static_cast<size_t>(type);
  return choices_[2 * place + (n_rows >= kManyRows ? 1 : 0)];
}

void Exec::observe(const Site& site, const Rows& rows, DType type, int n_heads) const {
  if (observer_ == nullptr) {
    return;
  }
  std::array<int64_t, 3> shape = {rows.n_rows, rows.n_cols, 0};
  size_t n_dims = 2;
  if (n_heads > 0) {
    FATHOM_CHECK(rows.n_cols % n_heads == 0);
    shape = {rows.n_rows, n_heads, rows.n_cols / n_heads};
    n_dims = 3;
  }
  TensorEvent event;
  event.layer = site.layer;
  event.name = site.name;
  event.shape = std::span(shape).first(n_dims);
  event.type = type;
  const auto n_values = static_cast<size_t>(rows.n_rows * rows.n_cols);
  std::vector<float> dense;  // watched steps may allocate
  if (rows.stride == rows.n_cols || rows.n_rows <= 1) {
    event.values = {rows.data, n_values};
  } else {
    dense.reserve(n_values);
    for (int64_t i = 0; i < rows.n_rows; ++i) {
      dense.insert(dense.end(), rows.row(i), rows.row(i) + rows.n_cols);
    }
    event.values = dense;
  }
  observer_->on_tensor(event);
}

void Exec::report_fault(const Site& site, int64_t row) {
  const int64_t batch_row =
      site.batch_rows.empty() ? row : site.batch_rows[static_cast<size_t>(row)];
  const std::lock_guard lock(fault_mutex_);
  if (!fault_) {
    fault_ = NumericFault{.layer = site.layer, .name = std::string(site.name), .row = batch_row};
  } else if (fault_->layer == site.layer && fault_->name == site.name) {
    fault_->row = std::min(fault_->row, batch_row);
  }
}

std::optional<NumericFault> Exec::take_fault() {
  const std::lock_guard lock(fault_mutex_);
  return std::exchange(fault_, std::nullopt);
}

}  // namespace fathom::ops
