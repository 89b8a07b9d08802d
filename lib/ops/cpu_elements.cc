// Operations on each value by itself: sums, scaling, limits, soft cap, copies of head columns.
// Called by model through Backend. Read next: ops/cpu_rows.cc.
#include <algorithm>
#include <bit>

#include "base/check.h"
#include "ops/cpu_backend.h"
#include "ops/cpu_parts.h"

namespace fathom::ops {

namespace {

// One pass without branches: the exponents of all values are looked at.
bool all_finite(const float* values, int64_t n) {
  constexpr uint32_t kExponent = 0x7f800000;
  uint32_t n_bad = 0;
  for (int64_t i = 0; i < n; ++i) {
    n_bad += static_cast<uint32_t>((std::bit_cast<uint32_t>(values[i]) & kExponent) == kExponent);
  }
  return n_bad == 0;
}

}  // namespace

void CpuBackend::add(const Rows& x, const Rows& y, float scale, const Site& site) {
  check_same_shape(x, y);
  const auto& kernels = exec_->kernels();
  run_rows(*exec_, x.n_rows, x.n_cols, [&](int64_t i, int) {
    if (scale == 1.0F) {
      kernels.add(x.row(i), y.row(i), x.n_cols, x.row(i));
    } else {
      kernels.add_scaled(y.row(i), scale, x.n_cols, x.row(i));
    }
  });
  exec_->observe(site, x);
}

void CpuBackend::add_gated(const Rows& x, const Rows& y, const Rows& gate, const Site& site) {
  check_same_shape(x, y);
  check_rows(gate);
  FATHOM_CHECK(gate.n_rows == x.n_rows && gate.n_cols == 1);
  run_rows(*exec_, x.n_rows, x.n_cols, [&](int64_t i, int) {
    exec_->kernels().add_scaled(y.row(i), sigmoid_of(gate.row(i)[0]), x.n_cols, x.row(i));
  });
  exec_->observe(site, x);
}

void CpuBackend::scale(const Rows& x, float factor, const Site& site) {
  check_rows(x);
  run_pieces(*exec_, x, [&](int64_t row, int64_t first, int64_t n) {
    float* values = x.row(row) + first;
    exec_->kernels().scale(values, factor, n, values);
  });
  exec_->observe(site, x);
}

void CpuBackend::clamp(const Rows& x, float limit, const Site& site) {
  check_rows(x);
  FATHOM_CHECK(limit > 0.0F);
  run_pieces(*exec_, x, [&](int64_t row, int64_t first, int64_t n) {
    exec_->kernels().clamp(x.row(row) + first, n, limit);
  });
  exec_->observe(site, x);
}

void CpuBackend::soft_cap(const Rows& x, float cap, const Site& site) {
  check_rows(x);
  FATHOM_CHECK(cap > 0.0F);
  run_pieces(*exec_, x, [&](int64_t row, int64_t first, int64_t n) {
    exec_->kernels().soft_cap(x.row(row) + first, n, cap);
  });
  exec_->observe(site, x);
}

void CpuBackend::check_finite(const Rows& x, const Site& site) {
  check_rows(x);
  run_pieces(*exec_, x, [&](int64_t row, int64_t first, int64_t n) {
    if (!all_finite(x.row(row) + first, n)) {
      exec_->report_fault(site, row);
    }
  });
}

void CpuBackend::copy_heads(const HeadCopy& job) {
  check_rows(job.from);
  check_rows(job.to);
  FATHOM_CHECK(job.from.n_rows == job.to.n_rows && job.n_heads > 0 && job.n_cols > 0);
  const auto check_columns = [&](const Rows& rows, int64_t first, int64_t step) {
    FATHOM_CHECK(first >= 0 && step >= 0);
    FATHOM_CHECK(first + (job.n_heads - 1) * step + job.n_cols <= rows.n_cols);
  };
  check_columns(job.from, job.from_first, job.from_step);
  check_columns(job.to, job.to_first, job.to_step);
  FATHOM_CHECK(job.n_heads == 1 || job.to_step >= job.n_cols);
  run_rows(*exec_, job.to.n_rows, job.n_heads * job.n_cols, [&](int64_t i, int) {
    const float* from = job.from.row(i) + job.from_first;
    float* to = job.to.row(i) + job.to_first;
    for (int64_t head = 0; head < job.n_heads; ++head) {
      std::copy_n(from + head * job.from_step, job.n_cols, to + head * job.to_step);
    }
  });
}

}  // namespace fathom::ops
