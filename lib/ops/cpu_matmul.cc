// Matrix products: a group of linears over one input, and the gated feed-forward with its epilogue.
// A unit of work is up to 64 output rows of one matrix x up to 256 rows of the step, so that its C
// block (64 KB) stays in L2 beside the weights; with few rows, long matrices have longer units. One
// kernel call computes all of K for an element, so no bit depends on how the units were cut or who
// computed them. Called by model through Backend. Read next: kernels/scalar/matmul.cc.
#include <array>
#include <cstring>

#include "base/check.h"
#include "ops/cpu_backend.h"
#include "ops/cpu_parts.h"

namespace fathom::ops {

namespace {

using quant::kGroupRows;

constexpr int kTileGroups = 4;      // of one kernel call
constexpr int kMaxUnitGroups = 16;  // of a unit with few rows: a long matrix needs fewer claims
constexpr int64_t kMaxBlockRows = 256;
constexpr int64_t kBlockCols = int64_t{kTileGroups} * kGroupRows;
constexpr int64_t kUnitsPerThread = 8;  // enough that a slow core costs an eighth of its share
constexpr int64_t kMinUnitBytes =
    int64_t{8} * 1024;  // weights of a decode unit: a claim costs about 0.1 us

static_assert(kKernelScratchBytes >= kernels::kMatmulScratchBytes);
static_assert(kWorkerScratchBytes >=
              kKernelScratchBytes + kMaxBlockRows * kBlockCols * sizeof(float));

// How the step's rows are cut: `n_blocks` runs of `per_block` rows.
struct RowCut {
  int64_t per_block = 0;
  int64_t n_blocks = 0;
};

RowCut cut_rows(int64_t n_rows) {
  const int64_t least = (n_rows + kMaxBlockRows - 1) / kMaxBlockRows;
  RowCut cut;
  cut.per_block = ((n_rows + least - 1) / least + 15) / 16 * 16;
  cut.n_blocks = (n_rows + cut.per_block - 1) / cut.per_block;
  return cut;
}

// Part of one matrix x part of the rows.
struct Tile {
  int64_t first_group = 0;
  int n_groups = 0;
  int64_t first_row = 0;
  int64_t n_rows = 0;
};

// Where a tile's result goes, and the worker's scratch for the kernel.
struct Target {
  float* out = nullptr;
  int64_t stride = 0;
  std::byte* scratch = nullptr;
};

void multiply(const kernels::KernelTable& table, const quant::PackedMatrix& weight,
              const kernels::RowsView& rows, const Tile& tile, const Target& target) {
  kernels::MatmulArgs args;
  args.weights = weight.group(tile.first_group);
  args.group_stride_bytes = weight.group_stride_bytes;
  args.n_groups = tile.n_groups;
  args.n_cols = weight.n_cols;
  args.rows = rows;
  args.first_row = tile.first_row;
  args.n_rows = tile.n_rows;
  args.out = target.out;
  args.out_stride = target.stride;
  args.scratch = target.scratch;
  const auto type = static_cast<size_t>(weight.type);
  const bool few = tile.n_rows <= kernels::kFewRows;
  (few ? table.matmul_few[type] : table.matmul_many[type])(args);
}

void check_weight(const kernels::KernelTable& table, const quant::PackedMatrix& weight,
                  const PackedRows& x) {
  FATHOM_CHECK(weight.data != nullptr && weight.n_rows > 0 && weight.n_cols == x.n_cols());
  FATHOM_CHECK(quant::is_packed_type(weight.type));
  RowForms needed;
  needed.add_for(weight.type);
  for (const RowForm form : {RowForm::kInt8, RowForm::kBf16, RowForm::kF32}) {
    FATHOM_CHECK(!needed.has(form) || x.forms().has(form));
  }
  const auto type = static_cast<size_t>(weight.type);
  FATHOM_CHECK(table.matmul_few[type] != nullptr && table.matmul_many[type] != nullptr);
}

// One call of linear(): its cut into units.
class LinearJob {
 public:
  LinearJob(const Exec& exec, const PackedRows& x, std::span<const LinearPart> parts,
            Epilogue epilogue)
      : exec_(&exec), rows_(x.view()), parts_(parts), epilogue_(epilogue) {
    cut_ = cut_rows(rows_.n_rows);
    const int64_t wanted = kUnitsPerThread * exec.threads().n_threads();
    const quant::PackedMatrix& first = parts.front().weight;
    const int64_t group_bytes = quant::group_bytes(first.type, first.n_cols);
    per_unit_ = rows_.n_rows > kernels::kFewRows ? kTileGroups : kMaxUnitGroups;
    while (per_unit_ > 1 && n_column_units() * cut_.n_blocks < wanted &&
           (rows_.n_rows > kernels::kFewRows || per_unit_ / 2 * group_bytes >= kMinUnitBytes)) {
      per_unit_ /= 2;
    }
  }

  // The units of one block of rows come first: its activations stay in L2 while the weights pass.
  void run() const {
    const int64_t n_columns = n_column_units();
    exec_->threads().run(n_columns * cut_.n_blocks, [&](int64_t unit, int worker) {
      run_unit(unit % n_columns, unit / n_columns, worker);
    });
  }

 private:
  [[nodiscard]] int64_t units_of(const LinearPart& part) const {
    return (part.weight.n_groups() + per_unit_ - 1) / per_unit_;
  }

  [[nodiscard]] int64_t n_column_units() const {
    int64_t total = 0;
    for (const LinearPart& part : parts_) {
      total += units_of(part);
    }
    return total;
  }

  void run_unit(int64_t column_unit, int64_t row_block, int worker) const {
    const LinearPart* part = parts_.data();
    while (column_unit >= units_of(*part)) {
      column_unit -= units_of(*part);
      ++part;
    }
    Tile tile;
    tile.first_row = row_block * cut_.per_block;
    tile.n_rows = std::min(cut_.per_block, rows_.n_rows - tile.first_row);
    const int64_t first = column_unit * per_unit_;
    const int64_t end = std::min(first + per_unit_, part->weight.n_groups());
    for (int64_t group = first; group < end; group += kTileGroups) {
      tile.first_group = group;
      tile.n_groups = static_cast<int>(std::min<int64_t>(kTileGroups, end - group));
      run_tile(*part, tile, exec_->scratch(worker));
    }
  }

  void run_tile(const LinearPart& part, const Tile& tile, std::byte* scratch) const {
    const auto& table = exec_->kernels();
    const int64_t first_col = tile.first_group * kGroupRows;
    const int64_t n_cols =
        std::min<int64_t>(int64_t{tile.n_groups} * kGroupRows, part.weight.n_rows - first_col);
    // The last group of a matrix is padded to 16 rows, `out` is not.
    const bool direct = epilogue_ == Epilogue::kStore && n_cols % kGroupRows == 0;
    Target target{.out = part.out.row(tile.first_row) + first_col,
                  .stride = part.out.stride,
                  .scratch = scratch};
    if (!direct) {
      target.out = reinterpret_cast<float*>(scratch + kKernelScratchBytes);
      target.stride = kBlockCols;
    }
    multiply(table, part.weight, rows_, tile, target);
    for (int64_t i = 0; i < tile.n_rows && (!direct || part.bias != nullptr); ++i) {
      float* y = target.out + i * target.stride;
      if (part.bias != nullptr) {
        table.add(y, part.bias + first_col, n_cols, y);
      }
      float* out = part.out.row(tile.first_row + i) + first_col;
      if (epilogue_ == Epilogue::kAddTo) {
        table.add(out, y, n_cols, out);
      } else if (!direct) {
        std::memcpy(out, y, static_cast<size_t>(n_cols) * sizeof(float));
      }
    }
  }

  const Exec* exec_;
  kernels::RowsView rows_;
  std::span<const LinearPart> parts_;
  Epilogue epilogue_;
  RowCut cut_;
  int64_t per_unit_ = kTileGroups;  // groups
};

}  // namespace

void CpuBackend::linear(const PackedRows& x, std::span<const LinearPart> parts, Epilogue epilogue,
                        int layer) {
  FATHOM_CHECK(!parts.empty());
  for (const LinearPart& part : parts) {
    check_weight(exec_->kernels(), part.weight, x);
    check_rows(part.out);
    FATHOM_CHECK(part.out.n_rows == x.n_rows() && part.out.n_cols == part.weight.n_rows);
  }
  if (x.n_rows() == 0) {
    return;
  }
  if (!exec_->observed() || epilogue == Epilogue::kStore) {
    LinearJob(*exec_, x, parts, epilogue).run();
    for (const LinearPart& part : parts) {
      exec_->observe({.layer = layer, .name = part.name}, part.out);
    }
    return;
  }
  // Watched sums: the linear's own result is shown, then added; the same two roundings.
  for (const LinearPart& part : parts) {
    const WatchedRows y(true, x.n_rows(), part.weight.n_rows);
    LinearPart stored = part;
    stored.out = y.rows();
    LinearJob(*exec_, x, {&stored, 1}, Epilogue::kStore).run();
    exec_->observe({.layer = layer, .name = part.name}, y.rows());
    for (int64_t i = 0; i < x.n_rows(); ++i) {
      exec_->kernels().add(part.out.row(i), y.rows().row(i), part.out.n_cols, part.out.row(i));
    }
    exec_->observe({.layer = layer, .name = part.sum_name}, part.out);
  }
}

namespace {

// A unit of the gated product: 32 outputs, one block of the packed result.
constexpr int64_t kGatedCols = quant::kBlockK;
constexpr int kGatedGroups = kGatedCols / kGroupRows;

// One call of gated_linear().
struct GatedJob {
  Exec* exec = nullptr;
  const GatedLinear* linear = nullptr;
  kernels::RowsView rows;
  PackedRows* out = nullptr;
  RowCut cut;
  Site site;                   // of the hidden values
  const Rows* gate = nullptr;  // the three stores of a watched step, or null
  const Rows* up = nullptr;
  const Rows* hidden = nullptr;
  bool joined = false;  // groups of gate and up alternate in memory

  void run_unit(int64_t block, int64_t row_block, int worker) const;
  void finish_row(int64_t block, int64_t row, float* gate_row, float* up_row) const;
};

// Gate and up of one unit side by side in C: [rows][gate 32 | up 32], or, when joined, 16 columns
// of each in turn, which finish_row's caller sorts.
void GatedJob::run_unit(int64_t block, int64_t row_block, int worker) const {
  const auto& table = exec->kernels();
  std::byte* scratch = exec->scratch(worker);
  auto* c = reinterpret_cast<float*>(scratch + kKernelScratchBytes);
  Tile tile;
  tile.first_group = block * kGatedGroups;
  tile.n_groups =
      static_cast<int>(std::min<int64_t>(kGatedGroups, linear->gate.n_groups() - tile.first_group));
  tile.first_row = row_block * cut.per_block;
  tile.n_rows = std::min(cut.per_block, rows.n_rows - tile.first_row);
  if (joined) {
    quant::PackedMatrix both = linear->gate;
    both.group_stride_bytes /= 2;
    Tile wide = tile;
    wide.first_group *= 2;
    wide.n_groups *= 2;
    multiply(table, both, rows, wide, {.out = c, .stride = kBlockCols, .scratch = scratch});
  } else {
    multiply(table, linear->gate, rows, tile, {.out = c, .stride = kBlockCols, .scratch = scratch});
    multiply(table, linear->up, rows, tile,
             {.out = c + kGatedCols, .stride = kBlockCols, .scratch = scratch});
  }
  for (int64_t i = 0; i < tile.n_rows; ++i) {
    float* row = c + i * kBlockCols;
    if (joined && tile.n_groups == 2) {  // g0 u0 g1 u1 -> g0 g1 u0 u1
      std::swap_ranges(row + kGroupRows, row + ptrdiff_t{2} * kGroupRows,
                       row + ptrdiff_t{2} * kGroupRows);
    }
    float* up_row = joined && tile.n_groups == 1 ? row + kGroupRows : row + kGatedCols;
    finish_row(block, tile.first_row + i, row, up_row);
  }
}

void GatedJob::finish_row(int64_t block, int64_t row, float* gate_row, float* up_row) const {
  const auto& table = exec->kernels();
  const int64_t first = block * kGatedCols;
  const int64_t n = std::min(kGatedCols, linear->gate.n_rows - first);
  if (linear->gate_bias != nullptr) {
    table.add(gate_row, linear->gate_bias + first, n, gate_row);
  }
  if (linear->up_bias != nullptr) {
    table.add(up_row, linear->up_bias + first, n, up_row);
  }
  alignas(64) std::array<float, kGatedCols> h;
  table.gated[static_cast<size_t>(linear->activation)](gate_row, up_row, n, h.data());
  if (gate != nullptr) {
    std::copy_n(gate_row, n, gate->row(row) + first);
    std::copy_n(up_row, n, up->row(row) + first);
    std::copy_n(h.data(), n, hidden->row(row) + first);
  }
  if (!pack_row(table, h.data(), n, row, block, *out)) {
    exec->report_fault(site, row);
  }
}

// True when every group of up lies directly behind the same group of gate.
bool are_joined(const GatedLinear& linear) {
  const int64_t bytes = quant::group_bytes(linear.gate.type, linear.gate.n_cols);
  return linear.gate.type == linear.up.type && linear.up.data == linear.gate.data + bytes &&
         linear.gate.group_stride_bytes == 2 * bytes && linear.up.group_stride_bytes == 2 * bytes;
}

}  // namespace

void CpuBackend::gated_linear(const PackedRows& x, const GatedLinear& linear, PackedRows& out,
                              int layer) {
  check_weight(exec_->kernels(), linear.gate, x);
  check_weight(exec_->kernels(), linear.up, x);
  const int64_t ffn_size = linear.gate.n_rows;
  FATHOM_CHECK(linear.up.n_rows == ffn_size && out.n_cols() == ffn_size && &x != &out);
  out.resize(x.n_rows());
  if (x.n_rows() == 0) {
    return;
  }
  const bool watched = exec_->observed();
  const WatchedRows gate(watched, x.n_rows(), ffn_size);
  const WatchedRows up(watched, x.n_rows(), ffn_size);
  const WatchedRows hidden(watched, x.n_rows(), ffn_size);
  GatedJob job{.exec = exec_,
               .linear = &linear,
               .rows = x.view(),
               .out = &out,
               .cut = cut_rows(x.n_rows()),
               .site = {.layer = layer, .name = "ffn_hidden"}};
  job.joined = are_joined(linear);
  if (watched) {
    job.gate = &gate.rows();
    job.up = &up.rows();
    job.hidden = &hidden.rows();
  }
  const int64_t n_blocks = (ffn_size + kGatedCols - 1) / kGatedCols;
  exec_->threads().run(n_blocks * job.cut.n_blocks, [&](int64_t unit, int worker) {
    job.run_unit(unit % n_blocks, unit / n_blocks, worker);
  });
  if (watched) {
    exec_->observe({.layer = layer, .name = "ffn_gate"}, gate.rows());
    exec_->observe({.layer = layer, .name = "ffn_up"}, up.rows());
    exec_->observe({.layer = layer, .name = "ffn_hidden"}, hidden.rows(), type_of(out.forms()));
  }
}

}  // namespace fathom::ops
