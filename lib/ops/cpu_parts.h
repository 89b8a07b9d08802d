// What the CPU's operations share: shape checks, work units over rows, packing one row.
// Called by ops/cpu_*.cc only. Read next: ops/cpu_rows.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/dtype.h"
#include "ops/backend.h"
#include "ops/exec.h"

namespace fathom::ops {

// Work of at most this many values is done by the caller: waking a sleeping worker costs more. It
// decides who computes, never what.
inline constexpr int64_t kInlineValues = 4096;

// fn(unit, worker) for every unit; `n_values` is the size of the whole job.
template <class F>
void run_units(const Exec& exec, int64_t n_units, int64_t n_values, const F& fn) {
  if (n_units > 1 && n_values > kInlineValues) {
    exec.threads().run(n_units, fn);
    return;
  }
  for (int64_t unit = 0; unit < n_units; ++unit) {
    fn(unit, 0);
  }
}

// fn(row, worker) for every row. Neighbouring rows share cache lines of packed activations, so a
// unit is a run of rows.
template <class F>
void run_rows(const Exec& exec, int64_t n_rows, int64_t n_cols, const F& fn) {
  const int64_t per_unit = n_rows >= 64 ? 16 : 4;
  const auto unit_of_rows = [&](int64_t unit, int worker) {
    const int64_t end = std::min(n_rows, (unit + 1) * per_unit);
    for (int64_t row = unit * per_unit; row < end; ++row) {
      fn(row, worker);
    }
  };
  run_units(exec, (n_rows + per_unit - 1) / per_unit, n_rows * n_cols, unit_of_rows);
}

// fn(row, first, n) for pieces of at most 2048 columns: one row may be long.
template <class F>
void run_pieces(const Exec& exec, const Rows& rows, const F& fn) {
  constexpr int64_t kPiece = 2048;
  const int64_t n_pieces = (rows.n_cols + kPiece - 1) / kPiece;
  run_units(exec, rows.n_rows * n_pieces, rows.n_rows * rows.n_cols, [&](int64_t unit, int) {
    const int64_t first = unit % n_pieces * kPiece;
    fn(unit / n_pieces, first, std::min(kPiece, rows.n_cols - first));
  });
}

// Aborts unless the rows are a proper view.
inline void check_rows(const Rows& rows) {
  FATHOM_CHECK(rows.n_rows >= 0 && rows.n_cols > 0 && rows.stride >= rows.n_cols);
  FATHOM_CHECK(rows.data != nullptr || rows.n_rows == 0);
}

inline void check_same_shape(const Rows& a, const Rows& b) {
  check_rows(a);
  check_rows(b);
  FATHOM_CHECK(a.n_rows == b.n_rows && a.n_cols == b.n_cols);
}

// Aborts unless the sequences cover the batch's `n_rows` rows in order, without gap or overlap,
// and the page table of each covers its positions. Positions and masks follow from it.
void check_sequences(std::span<const SequenceRows> sequences, int64_t n_rows);

// Aborts unless the pages' shape is one that the kernels can take.
void check_pages(const PagedView& pages);

// Aborts unless the norm has what its kind needs.
void check_norm(const Norm& norm);

// y[n] = norm(x); x and y may be the same.
void apply_norm(const kernels::KernelTable& table, const Norm& norm, const float* x, int64_t n,
                float* y);

// 1 / (1 + e^-x), in double and rounded once.
float sigmoid_of(float x);

// How the observer is told that packed activations are held.
DType type_of(const RowForms& forms);

// Writes x [n] into row `row` of `out` from block `first_block` on, in every form that the row has;
// a coarse row in pieces of 256. False when a block of an int8 form has a magnitude of Inf or NaN.
bool pack_row(const kernels::KernelTable& table, const float* x, int64_t n, int64_t row,
              int64_t first_block, PackedRows& out);

// The same for one block of rows first_row .. + n_rows - 1, whose values x [n_rows][32] are all
// there: in a block, packed rows follow each other. Not for coarse rows.
bool pack_block(const kernels::KernelTable& table, const float* x, int64_t n_rows,
                int64_t first_row, int64_t block, PackedRows& out);

// Dense rows for the observer's eyes; they exist only while somebody watches.
class WatchedRows {
 public:
  WatchedRows(bool watched, int64_t n_rows, int64_t n_cols) {
    if (watched) {
      values_.resize(static_cast<size_t>(n_rows * n_cols));
      rows_ = {.data = values_.data(), .n_rows = n_rows, .n_cols = n_cols, .stride = n_cols};
    }
  }

  [[nodiscard]] const Rows& rows() const { return rows_; }

 private:
  std::vector<float> values_;
  Rows rows_;
};

// Buffers for the partial results of attention's spans: `n_slots` slots of m, l and o [value_dim].
struct SpanBuffers {
  float* m = nullptr;
  float* l = nullptr;
  float* o = nullptr;
  int64_t n_slots = 0;
};

// ops/cpu_attend.cc: online softmax over spans of 512 positions.
void attend_flash(const Exec& exec, const Attend& job, const SpanBuffers& buffers);

// ops/cpu_attend_eager.cc: the textbook's softmax over a full row of scores, as a reference.
void attend_eager(const Exec& exec, const Attend& job);

}  // namespace fathom::ops
