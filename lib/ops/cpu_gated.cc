// The feed-forward's first half: gate and up, the activation, and the packed hidden values, fused
// so that gate and up are stored only when somebody watches. Called by model through Backend. Read
// next: ops/cpu_matmul.cc, ops/cpu_grouped.cc.
#include <algorithm>
#include <array>

#include "base/check.h"
#include "ops/cpu_backend.h"
#include "ops/cpu_matmul.h"
#include "ops/cpu_parts.h"

namespace fathom::ops {

using quant::kGroupRows;

namespace {

constexpr int64_t kPlainBlocks = kBlockCols / kGatedCols;  // packed blocks of a unit without a gate

int64_t blocks_of(const GatedLinear& linear) {
  return (linear.up.n_rows + kGatedCols - 1) / kGatedCols;
}

// Packed blocks that one part of the product fills.
int64_t blocks_of_part(const GatedLinear& linear) {
  return linear.gate.data == nullptr ? kPlainBlocks : 1;
}

// True when every group of up lies directly behind the same group of gate.
bool are_joined(const GatedLinear& linear) {
  const int64_t bytes = quant::group_bytes(linear.gate.type, linear.gate.n_cols);
  return linear.gate.type == linear.up.type && linear.up.data == linear.gate.data + bytes &&
         linear.gate.group_stride_bytes == 2 * bytes && linear.up.group_stride_bytes == 2 * bytes;
}

// Adds the bias of one block, which may be null, to rows [n_rows][32].
void add_to_rows(const kernels::KernelTable& table, const float* bias, int64_t first,
                 int64_t n_rows, float* rows) {
  for (int64_t i = 0; bias != nullptr && i < n_rows; ++i) {
    float* const row = rows + i * kGatedCols;
    table.add(row, bias + first, kGatedCols, row);
  }
}

}  // namespace

void apply_hidden(const kernels::KernelTable& table, const HiddenActivation& hidden,
                  const float* gate, const float* up, int64_t n, float* y) {
  const auto activation = static_cast<size_t>(hidden.activation);
  if (gate == nullptr) {
    table.activate[activation](up, n, y);
  } else if (hidden.clamp > 0.0F) {
    table.clamped_swiglu(gate, up, n, hidden.clamp, y);
  } else {
    table.gated[activation](gate, up, n, y);
  }
}

int64_t GatedProduct::n_column_units(const GatedLinear& linear) const {
  if (out_->has_coarse_rows()) {
    return (linear.up.n_rows + kWideCols - 1) / kWideCols;
  }
  const int64_t per_unit = blocks_of_part(linear);
  return (blocks_of(linear) + per_unit - 1) / per_unit;
}

void GatedProduct::run_unit(const GatedLinear& linear, int64_t column_unit, int64_t first_row,
                            int64_t n_rows, int worker) const {
  const Tile rows{.first_row = first_row, .n_rows = n_rows};
  if (out_->has_coarse_rows()) {
    run_wide(linear, column_unit, rows, worker);
  } else {
    run_part(linear, column_unit * blocks_of_part(linear), rows, worker);
  }
}

// All parts of a coarse block, then their hidden values row by row.
void GatedProduct::run_wide(const GatedLinear& linear, int64_t column_unit, const Tile& rows,
                            int worker) const {
  constexpr int64_t kBlocks = kWideCols / kGatedCols;
  const int64_t first_block = column_unit * kBlocks;
  const int64_t end = std::min(first_block + kBlocks, blocks_of(linear));
  for (int64_t block = first_block; block < end; block += blocks_of_part(linear)) {
    run_part(linear, block, rows, worker);
  }
  const int64_t n = std::min(kWideCols, linear.up.n_rows - column_unit * kWideCols);
  const auto* hidden = reinterpret_cast<const float*>(exec_->scratch(worker) + kWideOffset);
  for (int64_t i = 0; i < rows.n_rows; ++i) {
    pack(hidden + i * kWideCols, n, rows.first_row + i, first_block);
  }
}

void GatedProduct::run_part(const GatedLinear& linear, int64_t first_block, const Tile& rows,
                            int worker) const {
  const bool gated = linear.gate.data != nullptr;
  const int n_groups = gated ? kGatedGroups : kTileGroups;
  Tile tile = rows;
  tile.first_group = first_block * kGatedGroups;
  tile.n_groups =
      static_cast<int>(std::min<int64_t>(n_groups, linear.up.n_groups() - tile.first_group));
  const bool whole = (first_block + 1) * kGatedCols <= linear.up.n_rows;
  const bool at_once = whole && tile.n_rows > kernels::kFewRows && watched_.hidden == nullptr;
  if (gated && at_once && !out_->has_coarse_rows()) {
    run_gated_rows(linear, first_block, tile, worker);
  } else if (gated) {
    run_gated(linear, first_block, tile, worker);
  } else {
    run_plain(linear, first_block, tile, worker);
  }
}

float* GatedProduct::wide_at(std::byte* scratch, int64_t block, int64_t i) const {
  if (!out_->has_coarse_rows()) {
    return nullptr;
  }
  constexpr int64_t kBlocks = kWideCols / kGatedCols;
  return reinterpret_cast<float*>(scratch + kWideOffset) + i * kWideCols +
         block % kBlocks * kGatedCols;
}

// Gate and up of one unit side by side in C: [rows][gate 32 | up 32], or, when joined, 16 columns
// of each in turn, which are sorted here.
void GatedProduct::run_gated(const GatedLinear& linear, int64_t block, Tile tile,
                             int worker) const {
  std::byte* const scratch = exec_->scratch(worker);
  float* c = block_of(scratch);
  const bool joined = are_joined(linear);
  const int n_groups = tile.n_groups;
  if (joined) {
    quant::PackedMatrix both = linear.gate;
    both.group_stride_bytes /= 2;
    Tile wide = tile;
    wide.first_group *= 2;
    wide.n_groups *= 2;
    multiply(*exec_, both, rows_, wide, {.out = c, .stride = kBlockCols, .worker = worker});
  } else {
    multiply(*exec_, linear.gate, rows_, tile, {.out = c, .stride = kBlockCols, .worker = worker});
    multiply(*exec_, linear.up, rows_, tile,
             {.out = c + kGatedCols, .stride = kBlockCols, .worker = worker});
  }
  for (int64_t i = 0; i < tile.n_rows; ++i) {
    float* row = c + i * kBlockCols;
    if (joined && n_groups == 2) {  // g0 u0 g1 u1 -> g0 g1 u0 u1
      std::swap_ranges(row + kGroupRows, row + ptrdiff_t{2} * kGroupRows,
                       row + ptrdiff_t{2} * kGroupRows);
    }
    float* up_row = joined && n_groups == 1 ? row + kGroupRows : row + kGatedCols;
    finish_row(linear, block, tile.first_row + i, row, up_row, wide_at(scratch, block, i));
  }
}

// Many rows of one whole block, gate and up apart: [rows][32] each, as the block's packed rows lie,
// so that all of them take one call of the activation and one of the packing.
void GatedProduct::run_gated_rows(const GatedLinear& linear, int64_t block, const Tile& tile,
                                  int worker) const {
  const auto& table = exec_->kernels();
  float* const gate = block_of(exec_->scratch(worker));
  float* const up = gate + kMaxBlockRows * kGatedCols;
  float* const hidden = up + kMaxBlockRows * kGatedCols;
  multiply(*exec_, linear.gate, rows_, tile, {.out = gate, .stride = kGatedCols, .worker = worker});
  multiply(*exec_, linear.up, rows_, tile, {.out = up, .stride = kGatedCols, .worker = worker});
  add_to_rows(table, linear.gate_bias, block * kGatedCols, tile.n_rows, gate);
  add_to_rows(table, linear.up_bias, block * kGatedCols, tile.n_rows, up);
  apply_hidden(table, linear.hidden, gate, up, tile.n_rows * kGatedCols, hidden);
  if (pack_block(table, hidden, tile.n_rows, tile.first_row, block, *out_)) {
    return;
  }
  for (int64_t i = 0; i < tile.n_rows; ++i) {
    pack(hidden + i * kGatedCols, kGatedCols, tile.first_row + i, block);
  }
}

void GatedProduct::run_plain(const GatedLinear& linear, int64_t first_block, const Tile& tile,
                             int worker) const {
  std::byte* const scratch = exec_->scratch(worker);
  float* c = block_of(scratch);
  multiply(*exec_, linear.up, rows_, tile, {.out = c, .stride = kBlockCols, .worker = worker});
  const int64_t n_blocks = std::min(kPlainBlocks, blocks_of(linear) - first_block);
  for (int64_t i = 0; i < tile.n_rows; ++i) {
    for (int64_t b = 0; b < n_blocks; ++b) {
      float* up_row = c + i * kBlockCols + b * kGatedCols;
      finish_row(linear, first_block + b, tile.first_row + i, nullptr, up_row,
                 wide_at(scratch, first_block + b, i));
    }
  }
}

void GatedProduct::finish_row(const GatedLinear& linear, int64_t block, int64_t row,
                              float* gate_row, float* up_row, float* wide) const {
  const auto& table = exec_->kernels();
  const int64_t first = block * kGatedCols;
  const int64_t n = std::min(kGatedCols, linear.up.n_rows - first);
  if (gate_row != nullptr && linear.gate_bias != nullptr) {
    table.add(gate_row, linear.gate_bias + first, n, gate_row);
  }
  if (linear.up_bias != nullptr) {
    table.add(up_row, linear.up_bias + first, n, up_row);
  }
  alignas(64) std::array<float, kGatedCols> h;
  apply_hidden(table, linear.hidden, gate_row, up_row, n, h.data());
  if (watched_.gate != nullptr && gate_row != nullptr) {
    std::copy_n(gate_row, n, watched_.gate->row(row) + first);
  }
  if (watched_.up != nullptr) {
    std::copy_n(up_row, n, watched_.up->row(row) + first);
  }
  if (watched_.hidden != nullptr) {
    std::copy_n(h.data(), n, watched_.hidden->row(row) + first);
  }
  if (wide != nullptr) {
    std::copy_n(h.data(), n, wide);
  } else {
    pack(h.data(), n, row, block);
  }
}

void GatedProduct::pack(const float* hidden, int64_t n, int64_t row, int64_t first_block) const {
  if (!pack_row(exec_->kernels(), hidden, n, row, first_block, *out_)) {
    exec_->report_fault(site_, token_of_.empty() ? row : token_of_[static_cast<size_t>(row)]);
  }
}

void check_gated(const kernels::KernelTable& table, const GatedLinear& linear,
                 const PackedRows& x) {
  check_weight(table, linear.up, x);
  if (linear.gate.data == nullptr) {
    FATHOM_CHECK(linear.gate_bias == nullptr && linear.hidden.clamp == 0.0F);
    return;
  }
  check_weight(table, linear.gate, x);
  FATHOM_CHECK(linear.gate.n_rows == linear.up.n_rows && linear.hidden.clamp >= 0.0F);
}

void CpuBackend::gated_linear(const PackedRows& x, const GatedLinear& linear, PackedRows& out,
                              int layer) {
  check_gated(exec_->kernels(), linear, x);
  const int64_t ffn_size = linear.up.n_rows;
  FATHOM_CHECK(out.n_cols() == ffn_size && &x != &out);
  out.resize_like(x);
  if (x.n_rows() == 0) {
    return;
  }
  const bool watched = exec_->observed();
  const bool gated = linear.gate.data != nullptr;
  const WatchedRows gate(watched && gated, x.n_rows(), ffn_size);
  const WatchedRows up(watched, x.n_rows(), ffn_size);
  const WatchedRows hidden(watched, x.n_rows(), ffn_size);
  GatedProduct::Watched stores;
  if (watched) {
    stores = {.gate = gated ? &gate.rows() : nullptr, .up = &up.rows(), .hidden = &hidden.rows()};
  }
  const Site site{.layer = layer, .name = "ffn_hidden"};
  const GatedProduct product(*exec_, x, out, site, stores);
  const RowCut cut = cut_rows(x.n_rows());
  const int64_t n_columns = product.n_column_units(linear);
  run_matrix_units(*exec_, x.n_rows(), n_columns * cut.n_blocks, [&](int64_t unit, int worker) {
    const int64_t first_row = unit / n_columns * cut.per_block;
    const int64_t n_rows = std::min(cut.per_block, x.n_rows() - first_row);
    product.run_unit(linear, unit % n_columns, first_row, n_rows, worker);
  });
  if (watched && gated) {
    exec_->observe({.layer = layer, .name = "ffn_gate"}, gate.rows());
  }
  if (watched) {
    exec_->observe({.layer = layer, .name = "ffn_up"}, up.rows());
    exec_->observe(site, hidden.rows(), type_of(out.forms()));
  }
}

void CpuBackend::gate_pack(const Rows& gate, const Rows& up, const HiddenActivation& hidden,
                           PackedRows& out, int layer) {
  check_rows(up);
  const bool gated = gate.data != nullptr;
  if (gated) {
    check_same_shape(gate, up);
  }
  FATHOM_CHECK(up.n_cols == out.n_cols() && (gated || hidden.clamp == 0.0F));
  FATHOM_CHECK(static_cast<size_t>(up.n_cols) * sizeof(float) <= kWorkerScratchBytes);
  out.resize(up.n_rows);
  const Site site{.layer = layer, .name = "ffn_hidden"};
  const WatchedRows watched(exec_->observed(), up.n_rows, up.n_cols);
  run_rows(*exec_, up.n_rows, up.n_cols, [&](int64_t i, int worker) {
    float* h = exec_->observed() ? watched.rows().row(i)
                                 : reinterpret_cast<float*>(exec_->scratch(worker));
    apply_hidden(exec_->kernels(), hidden, gated ? gate.row(i) : nullptr, up.row(i), up.n_cols, h);
    if (!pack_row(exec_->kernels(), h, up.n_cols, i, 0, out)) {
      exec_->report_fault(site, i);
    }
  });
  if (exec_->observed()) {
    exec_->observe(site, watched.rows(), type_of(out.forms()));
  }
}

}  // namespace fathom::ops
