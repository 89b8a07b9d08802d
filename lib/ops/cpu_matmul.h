// What the CPU's matrix products share: how rows and columns are cut, one tile, its epilogue.
// Called by ops/cpu_matmul.cc, ops/cpu_gated.cc, ops/cpu_grouped.cc only. Read next:
// ops/cpu_matmul.cc.
#pragma once

#include <cstdint>

#include "ops/cpu_parts.h"
#include "quant/coarse.h"

namespace fathom::ops {

inline constexpr int kTileGroups = 4;      // of one kernel call
inline constexpr int kMaxUnitGroups = 16;  // of a unit with few rows: long matrices need fewer
inline constexpr int64_t kMaxBlockRows = 256;
inline constexpr int64_t kBlockCols = int64_t{kTileGroups} * quant::kGroupRows;

static_assert(kKernelScratchBytes >= kernels::kMatmulScratchBytes);
static_assert(kWorkerScratchBytes >=
              kKernelScratchBytes + 2 * kMaxBlockRows * kBlockCols * sizeof(float));

// How a run of rows is cut: `n_blocks` blocks of `per_block` rows, the last may be shorter.
struct RowCut {
  int64_t per_block = 0;
  int64_t n_blocks = 0;
};

// Blocks of at most kMaxBlockRows; none for no rows.
RowCut cut_rows(int64_t n_rows);

// Groups of weights per unit, by the number of rows that meet them.
struct ColumnCut {
  int few = kMaxUnitGroups;  // up to kernels::kFewRows rows
  int many = kTileGroups;

  [[nodiscard]] int for_rows(int64_t n_rows) const {
    return n_rows > kernels::kFewRows ? many : few;
  }

  // Halves what may become smaller: units of few rows read at least some KB of weights. False when
  // nothing may. `group_bytes` of one group of weights.
  bool refine(int64_t group_bytes);
};

// Units that a job should have at least, where it can.
int64_t wanted_units(const Exec& exec);

// fn(unit, worker) for every unit of a product. Few rows read every weight once: neighbouring units
// on one core follow each other in memory, and the kernel asks for the next one at the end of each.
template <class F>
void run_matrix_units(const Exec& exec, int64_t n_rows, int64_t n_units, const F& fn) {
  if (n_rows <= kernels::kFewRows) {
    exec.threads().run_ranges(n_units, fn);
  } else {
    exec.threads().run(n_units, fn);
  }
}

// Part of one matrix x part of the rows.
struct Tile {
  int64_t first_group = 0;
  int n_groups = 0;  // at most kTileGroups
  int64_t first_row = 0;
  int64_t n_rows = 0;
};

// Where a tile's result goes, and who computes it.
struct Target {
  float* out = nullptr;
  int64_t stride = 0;
  int worker = 0;
};

// The C block behind the kernel's part of a worker's scratch: [kMaxBlockRows][kBlockCols], and room
// for one more.
inline float* block_of(std::byte* scratch) {
  return reinterpret_cast<float*>(scratch + kKernelScratchBytes);
}

// The tile's products, no bias: a kernel call for each run of rows of one arithmetic.
void multiply(const Exec& exec, const quant::PackedMatrix& weight, const kernels::RowsView& rows,
              const Tile& tile, const Target& target);

// Row `first_row + i` of the tile goes to row `out_row + i` of the part's `out`.
struct LinearTile {
  const LinearPart* part = nullptr;
  Epilogue epilogue = Epilogue::kStore;
  Tile tile;
  int64_t out_row = 0;
};

// The tile's products, its bias and its epilogue.
void run_linear_tile(const Exec& exec, const kernels::RowsView& rows, const LinearTile& job,
                     int worker);

// Aborts unless the matrix fits x's width and forms and has kernels.
void check_weight(const kernels::KernelTable& table, const quant::PackedMatrix& weight,
                  const PackedRows& x);

// A unit of the gated product: 32 outputs, one block of the packed result; without a gate, 64.
inline constexpr int64_t kGatedCols = quant::kBlockK;
inline constexpr int kGatedGroups = kGatedCols / quant::kGroupRows;

// Where rows of the packed result are coarse, a unit is one of their blocks, whose hidden values
// wait behind the C block: [kMaxBlockRows][kWideCols].
inline constexpr int64_t kWideCols = quant::kCoarseK;
inline constexpr int64_t kWideOffset = kKernelScratchBytes + kMaxBlockRows * kBlockCols * 4;

static_assert(kWorkerScratchBytes >= kWideOffset + kMaxBlockRows * kWideCols * sizeof(float));

// Gated products into packed rows. Thread rule: units from any worker.
class GatedProduct {
 public:
  // Observer sees the hidden values at `site`; the watched stores are null when nobody watches.
  struct Watched {
    const Rows* gate = nullptr;
    const Rows* up = nullptr;
    const Rows* hidden = nullptr;
  };

  // `token_of`: the batch's row of each of x's, for faults; empty: the same.
  GatedProduct(Exec& exec, const PackedRows& x, PackedRows& out, const Site& site,
               const Watched& watched, std::span<const int32_t> token_of = {})
      : exec_(&exec),
        rows_(x.view()),
        out_(&out),
        site_(site),
        watched_(watched),
        token_of_(token_of) {}

  // Units along the columns of one gated linear.
  [[nodiscard]] int64_t n_column_units(const GatedLinear& linear) const;

  // One unit of columns x rows [first_row, first_row + n_rows), at most kMaxBlockRows.
  void run_unit(const GatedLinear& linear, int64_t column_unit, int64_t first_row, int64_t n_rows,
                int worker) const;

 private:
  void run_part(const GatedLinear& linear, int64_t first_block, const Tile& rows, int worker) const;
  void run_wide(const GatedLinear& linear, int64_t column_unit, const Tile& rows, int worker) const;
  void run_gated(const GatedLinear& linear, int64_t block, Tile tile, int worker) const;
  void run_gated_rows(const GatedLinear& linear, int64_t block, const Tile& tile, int worker) const;
  void run_plain(const GatedLinear& linear, int64_t first_block, const Tile& tile,
                 int worker) const;
  void finish_row(const GatedLinear& linear, int64_t block, int64_t row, float* gate_row,
                  float* up_row, float* wide) const;
  // Where the hidden values of `block` and row i of the unit wait in the worker's scratch; null:
  // they are packed at once.
  [[nodiscard]] float* wide_at(std::byte* scratch, int64_t block, int64_t i) const;
  void pack(const float* hidden, int64_t n, int64_t row, int64_t first_block) const;

  Exec* exec_;
  kernels::RowsView rows_;
  PackedRows* out_;
  Site site_;
  Watched watched_;
  std::span<const int32_t> token_of_;
};

// Aborts unless gate (if any) and up fit x and each other, and the activation has what it needs.
void check_gated(const kernels::KernelTable& table, const GatedLinear& linear, const PackedRows& x);

// y[n] = the hidden values; `gate` null: of up alone.
void apply_hidden(const kernels::KernelTable& table, const HiddenActivation& hidden,
                  const float* gate, const float* up, int64_t n, float* y);

}  // namespace fathom::ops
