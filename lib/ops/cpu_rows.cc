// Operations that treat each row by itself: embedding, norms, packing, rope tables.
// Called by model through Backend. Read next: ops/cpu_elements.cc, ops/cpu_matmul.cc.
#include "base/check.h"
#include "base/det_math.h"
#include "ops/cpu_backend.h"
#include "ops/cpu_parts.h"
#include "quant/pack.h"

namespace fathom::ops {

void CpuBackend::embed(const quant::PackedMatrix& table, std::span<const int32_t> ids, float scale,
                       const Rows& out, const Site& site) {
  check_rows(out);
  FATHOM_CHECK(out.n_rows == static_cast<int64_t>(ids.size()) && out.n_cols == table.n_cols);
  const auto& kernels = exec_->kernels();
  run_rows(*exec_, out.n_rows, out.n_cols, [&](int64_t i, int) {
    const int32_t id = ids[static_cast<size_t>(i)];
    FATHOM_CHECK(id >= 0 && id < table.n_rows);
    quant::unpack_row(table, id, out.row(i));
    if (scale != 1.0F) {
      kernels.scale(out.row(i), scale, out.n_cols, out.row(i));
    }
  });
  exec_->observe(site, out);
}

void CpuBackend::add_positions(const quant::PackedMatrix& table, std::span<const int64_t> positions,
                               int64_t offset, const Rows& x, const Site& site) {
  check_rows(x);
  FATHOM_CHECK(x.n_rows == static_cast<int64_t>(positions.size()) && x.n_cols == table.n_cols);
  FATHOM_CHECK(static_cast<size_t>(x.n_cols) * sizeof(float) <= kWorkerScratchBytes);
  run_rows(*exec_, x.n_rows, x.n_cols, [&](int64_t i, int worker) {
    const int64_t row = positions[static_cast<size_t>(i)] + offset;
    FATHOM_CHECK(row >= 0 && row < table.n_rows);
    auto* learned = reinterpret_cast<float*>(exec_->scratch(worker));
    quant::unpack_row(table, row, learned);
    exec_->kernels().add(x.row(i), learned, x.n_cols, x.row(i));
  });
  exec_->observe(site, x);
}

void CpuBackend::norm_pack(const Rows& x, const Norm& norm, PackedRows& out, const Site& site) {
  check_rows(x);
  check_norm(norm);
  FATHOM_CHECK(x.n_cols == out.n_cols());
  FATHOM_CHECK(static_cast<size_t>(x.n_cols) * sizeof(float) <= kWorkerScratchBytes);
  out.resize(x.n_rows);
  const auto& kernels = exec_->kernels();
  const WatchedRows watched(exec_->observed(), x.n_rows, x.n_cols);
  run_rows(*exec_, x.n_rows, x.n_cols, [&](int64_t i, int worker) {
    float* normed = exec_->observed() ? watched.rows().row(i)
                                      : reinterpret_cast<float*>(exec_->scratch(worker));
    apply_norm(kernels, norm, x.row(i), x.n_cols, normed);
    if (!pack_row(kernels, normed, x.n_cols, i, 0, out)) {
      exec_->report_fault(site, i);
    }
  });
  if (exec_->observed()) {
    exec_->observe(site, watched.rows(), type_of(out.forms()));
  }
}

void CpuBackend::norm(const Rows& x, const Norm& norm, const Rows& out, const Site& site) {
  check_same_shape(x, out);
  check_norm(norm);
  const auto& kernels = exec_->kernels();
  run_rows(*exec_, x.n_rows, x.n_cols,
           [&](int64_t i, int) { apply_norm(kernels, norm, x.row(i), x.n_cols, out.row(i)); });
  exec_->observe(site, out);
}

void CpuBackend::pack(const Rows& x, PackedRows& out, const Site& site) {
  check_rows(x);
  FATHOM_CHECK(x.n_cols == out.n_cols());
  out.resize(x.n_rows);
  run_rows(*exec_, x.n_rows, x.n_cols, [&](int64_t i, int) {
    if (!pack_row(exec_->kernels(), x.row(i), x.n_cols, i, 0, out)) {
      exec_->report_fault(site, i);
    }
  });
  exec_->observe(site, x, type_of(out.forms()));
}

void CpuBackend::gather_pack(const Rows& x, std::span<const int32_t> rows, PackedRows& out,
                             const Site& site) {
  check_rows(x);
  FATHOM_CHECK(x.n_cols == out.n_cols());
  const auto n_rows = static_cast<int64_t>(rows.size());
  out.resize(rows);
  const WatchedRows watched(exec_->observed(), n_rows, x.n_cols);
  run_rows(*exec_, n_rows, x.n_cols, [&](int64_t i, int) {
    const int32_t row = rows[static_cast<size_t>(i)];
    FATHOM_CHECK(row >= 0 && row < x.n_rows);
    if (!pack_row(exec_->kernels(), x.row(row), x.n_cols, i, 0, out)) {
      exec_->report_fault(site, row);
    }
    if (exec_->observed()) {
      std::copy_n(x.row(row), x.n_cols, watched.rows().row(i));
    }
  });
  if (exec_->observed()) {
    exec_->observe(site, watched.rows(), type_of(out.forms()));
  }
}

void CpuBackend::pack_heads(const Rows& x, int n_heads, int64_t first, int64_t step,
                            PackedRows& out, const Site& site) {
  check_rows(x);
  const int64_t n_cols = out.n_cols();
  FATHOM_CHECK(n_heads > 0 && first >= 0 && step >= 0);
  FATHOM_CHECK(first + (n_heads - 1) * step + n_cols <= x.n_cols);
  const int64_t n_rows = n_heads * x.n_rows;
  out.resize(n_rows);
  const WatchedRows watched(exec_->observed(), n_rows, n_cols);
  run_rows(*exec_, n_rows, n_cols, [&](int64_t i, int) {
    const float* values = x.row(i % x.n_rows) + first + i / x.n_rows * step;
    if (!pack_row(exec_->kernels(), values, n_cols, i, 0, out)) {
      exec_->report_fault(site, i % x.n_rows);
    }
    if (exec_->observed()) {
      std::copy_n(values, n_cols, watched.rows().row(i));
    }
  });
  if (exec_->observed()) {
    exec_->observe(site, watched.rows(), type_of(out.forms()));
  }
}

void CpuBackend::fill_rope(std::span<const int64_t> positions, std::span<const float> inv_freq,
                           float magnitude, float* cos, float* sin) {
  const auto n_pairs = static_cast<int64_t>(inv_freq.size());
  const auto n_rows = static_cast<int64_t>(positions.size());
  run_rows(*exec_, n_rows, n_pairs, [&](int64_t i, int) {
    const auto position = static_cast<float>(positions[static_cast<size_t>(i)]);
    for (int64_t pair = 0; pair < n_pairs; ++pair) {
      const SinCos value = sin_cos_f32(position * inv_freq[static_cast<size_t>(pair)]);
      cos[i * n_pairs + pair] = value.cos * magnitude;
      sin[i * n_pairs + pair] = value.sin * magnitude;
    }
  });
}

}  // namespace fathom::ops
