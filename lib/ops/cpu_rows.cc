// Operations that treat each row by itself: embedding, norms, packing, sums, soft cap, rope tables.
// Called by model through Backend. Read next: ops/cpu_matmul.cc.
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

void CpuBackend::norm_pack(const Rows& x, const Norm& norm, PackedRows& out, const Site& site) {
  check_rows(x);
  FATHOM_CHECK(x.n_cols == out.n_cols() && norm.weight != nullptr);
  FATHOM_CHECK(static_cast<size_t>(x.n_cols) * sizeof(float) <= kWorkerScratchBytes);
  out.resize(x.n_rows);
  const auto& kernels = exec_->kernels();
  const WatchedRows watched(exec_->observed(), x.n_rows, x.n_cols);
  run_rows(*exec_, x.n_rows, x.n_cols, [&](int64_t i, int worker) {
    float* normed = exec_->observed() ? watched.rows().row(i)
                                      : reinterpret_cast<float*>(exec_->scratch(worker));
    kernels.rms_norm(x.row(i), norm.weight, x.n_cols, norm.eps, normed);
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
  FATHOM_CHECK(norm.weight != nullptr);
  const auto& kernels = exec_->kernels();
  run_rows(*exec_, x.n_rows, x.n_cols, [&](int64_t i, int) {
    kernels.rms_norm(x.row(i), norm.weight, x.n_cols, norm.eps, out.row(i));
  });
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

void CpuBackend::add(const Rows& x, const Rows& y, const Site& site) {
  check_same_shape(x, y);
  run_rows(*exec_, x.n_rows, x.n_cols,
           [&](int64_t i, int) { exec_->kernels().add(x.row(i), y.row(i), x.n_cols, x.row(i)); });
  exec_->observe(site, x);
}

void CpuBackend::soft_cap(const Rows& x, float cap, const Site& site) {
  check_rows(x);
  FATHOM_CHECK(cap > 0.0F);
  // One row of logits is long: cut it.
  constexpr int64_t kPiece = 2048;
  const int64_t n_pieces = (x.n_cols + kPiece - 1) / kPiece;
  run_units(*exec_, x.n_rows * n_pieces, x.n_rows * x.n_cols, [&](int64_t unit, int) {
    const int64_t first = unit % n_pieces * kPiece;
    const int64_t n = std::min(kPiece, x.n_cols - first);
    exec_->kernels().soft_cap(x.row(unit / n_pieces) + first, n, cap);
  });
  exec_->observe(site, x);
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
