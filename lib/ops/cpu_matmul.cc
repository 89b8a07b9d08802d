// Matrix products: a group of linears over one input, and what all products share.
// A unit of work is up to 64 output rows of one matrix x up to 256 rows of the step, so that its C
// block (64 KB) stays in L2 beside the weights; with few rows, long matrices have longer units. One
// kernel call computes all of K for an element, so no bit depends on how the units were cut or who
// computed them. Called by model through Backend. Read next: kernels/scalar/matmul.cc,
// ops/cpu_gated.cc, ops/cpu_grouped.cc.
#include "ops/cpu_matmul.h"

#include <chrono>
#include <cstring>

#include "base/check.h"
#include "ops/cpu_backend.h"
#include "ops/cpu_parts.h"

namespace fathom::ops {

using quant::kGroupRows;

namespace {

constexpr int64_t kChoiceRows = 16;     // below, both kernels are the same
constexpr int64_t kUnitsPerThread = 8;  // enough that a slow core costs an eighth of its share
constexpr int64_t kMinUnitBytes =
    int64_t{8} * 1024;  // weights of a decode unit: a claim costs about 0.1 us

}  // namespace

RowCut cut_rows(int64_t n_rows) {
  RowCut cut;
  if (n_rows > 0) {
    const int64_t least = (n_rows + kMaxBlockRows - 1) / kMaxBlockRows;
    cut.per_block = ((n_rows + least - 1) / least + 15) / 16 * 16;
    cut.n_blocks = (n_rows + cut.per_block - 1) / cut.per_block;
  }
  return cut;
}

bool ColumnCut::refine(int64_t group_bytes) {
  const bool smaller_few = few > 1 && few / 2 * group_bytes >= kMinUnitBytes;
  const bool smaller_many = many > 1;
  few /= smaller_few ? 2 : 1;
  many /= smaller_many ? 2 : 1;
  return smaller_few || smaller_many;
}

int64_t wanted_units(const Exec& exec) {
  return kUnitsPerThread * exec.threads().n_threads();
}

namespace {

// The rows of a tile from `first` on that are of one arithmetic.
int64_t run_length(const kernels::RowsView& rows, const Tile& tile, int64_t first) {
  const bool* kinds = rows.is_coarse + tile.first_row;
  int64_t end = first + 1;
  while (end < tile.n_rows && kinds[end] == kinds[first]) {
    ++end;
  }
  return end - first;
}

// Runs whichever of the two kernels for many rows has been the faster one of late.
void run_faster(const Exec& exec, DType type, const kernels::MatmulArgs& args, int worker) {
  using Clock = std::chrono::steady_clock;
  const auto index = static_cast<size_t>(type);
  const kernels::MatmulFn both[] = {exec.kernels().matmul_many[index],
                                    exec.kernels().matmul_many_also[index]};
  KernelChoice& choice = exec.choice(worker, type, args.n_rows);
  const int kernel = choice.next();
  const auto start = Clock::now();
  both[kernel](args);
  const std::chrono::duration<double> seconds = Clock::now() - start;
  const auto work = static_cast<double>(args.n_rows * args.n_groups * args.n_cols);
  choice.report(kernel, seconds.count() / work);
}

}  // namespace

void multiply(const Exec& exec, const quant::PackedMatrix& weight, const kernels::RowsView& rows,
              const Tile& tile, const Target& target) {
  kernels::MatmulArgs args;
  args.weights = weight.group(tile.first_group);
  args.group_stride_bytes = weight.group_stride_bytes;
  args.n_groups = tile.n_groups;
  args.n_cols = weight.n_cols;
  args.rows = rows;
  args.out_stride = target.stride;
  args.scratch = exec.scratch(target.worker);
  const auto type = static_cast<size_t>(weight.type);
  const kernels::KernelTable& table = exec.kernels();
  const bool may_be_coarse = rows.is_coarse != nullptr && table.matmul_coarse[type] != nullptr;
  for (int64_t first = 0; first < tile.n_rows; first += args.n_rows) {
    args.first_row = tile.first_row + first;
    args.n_rows = may_be_coarse ? run_length(rows, tile, first) : tile.n_rows;
    args.out = target.out + first * target.stride;
    if (may_be_coarse && rows.is_coarse[args.first_row]) {
      table.matmul_coarse[type](args);
    } else if (args.n_rows <= kernels::kFewRows) {
      table.matmul_few[type](args);
    } else if (table.matmul_many_also[type] == nullptr || args.n_rows < kChoiceRows) {
      table.matmul_many[type](args);
    } else {
      run_faster(exec, weight.type, args, target.worker);
    }
  }
}

void run_linear_tile(const Exec& exec, const kernels::RowsView& rows, const LinearTile& job,
                     int worker) {
  const auto& table = exec.kernels();
  const LinearPart& part = *job.part;
  const Tile& tile = job.tile;
  const int64_t first_col = tile.first_group * kGroupRows;
  const int64_t n_cols =
      std::min<int64_t>(int64_t{tile.n_groups} * kGroupRows, part.weight.n_rows - first_col);
  // The last group of a matrix is padded to 16 rows, `out` is not.
  const bool direct = job.epilogue == Epilogue::kStore && n_cols % kGroupRows == 0;
  Target target{
      .out = part.out.row(job.out_row) + first_col, .stride = part.out.stride, .worker = worker};
  if (!direct) {
    target.out = block_of(exec.scratch(worker));
    target.stride = kBlockCols;
  }
  multiply(exec, part.weight, rows, tile, target);
  for (int64_t i = 0; i < tile.n_rows && (!direct || part.bias != nullptr); ++i) {
    float* y = target.out + i * target.stride;
    if (part.bias != nullptr) {
      table.add(y, part.bias + first_col, n_cols, y);
    }
    float* out = part.out.row(job.out_row + i) + first_col;
    if (job.epilogue == Epilogue::kAddTo && part.scale != 1.0F) {
      table.add_scaled(y, part.scale, n_cols, out);
    } else if (job.epilogue == Epilogue::kAddTo) {
      table.add(out, y, n_cols, out);
    } else if (!direct) {
      std::memcpy(out, y, static_cast<size_t>(n_cols) * sizeof(float));
    }
  }
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

namespace {

// One call of linear(): its cut into units.
class LinearJob {
 public:
  LinearJob(const Exec& exec, const PackedRows& x, std::span<const LinearPart> parts,
            Epilogue epilogue)
      : exec_(&exec), rows_(x.view()), n_rows_(x.n_rows()), parts_(parts), epilogue_(epilogue) {
    cut_ = cut_rows(n_rows_);
    const quant::PackedMatrix& first = parts.front().weight;
    const int64_t group_bytes = quant::group_bytes(first.type, first.n_cols);
    ColumnCut columns;
    bool finer = true;
    while (finer) {
      per_unit_ = columns.for_rows(n_rows_);
      finer = n_column_units() * cut_.n_blocks < wanted_units(exec) && columns.refine(group_bytes);
    }
  }

  // The units of one block of rows come first: its activations stay in L2 while the weights pass.
  void run() const {
    const int64_t n_columns = n_column_units();
    run_matrix_units(*exec_, n_rows_, n_columns * cut_.n_blocks, [&](int64_t unit, int worker) {
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
    LinearTile job;
    job.part = part;
    job.epilogue = epilogue_;
    job.out_row = row_block * cut_.per_block;
    job.tile.first_row = job.out_row;
    job.tile.n_rows = std::min(cut_.per_block, n_rows_ - job.out_row);
    const int64_t first = column_unit * per_unit_;
    const int64_t end = std::min(first + per_unit_, part->weight.n_groups());
    for (int64_t group = first; group < end; group += kTileGroups) {
      job.tile.first_group = group;
      job.tile.n_groups = static_cast<int>(std::min<int64_t>(kTileGroups, end - group));
      run_linear_tile(*exec_, rows_, job, worker);
    }
  }

  const Exec* exec_;
  kernels::RowsView rows_;
  int64_t n_rows_;
  std::span<const LinearPart> parts_;
  Epilogue epilogue_;
  RowCut cut_;
  int64_t per_unit_ = kTileGroups;  // groups
};

// Watched sums: the linear's own result is shown, then added; the same roundings.
void add_watched(const Exec& exec, const PackedRows& x, const LinearPart& part, int layer) {
  const auto& table = exec.kernels();
  const WatchedRows y(true, x.n_rows(), part.weight.n_rows);
  LinearPart stored = part;
  stored.out = y.rows();
  LinearJob(exec, x, {&stored, 1}, Epilogue::kStore).run();
  exec.observe({.layer = layer, .name = part.name}, y.rows());
  for (int64_t i = 0; i < x.n_rows(); ++i) {
    if (part.scale == 1.0F) {
      table.add(part.out.row(i), y.rows().row(i), part.out.n_cols, part.out.row(i));
    } else {
      table.add_scaled(y.rows().row(i), part.scale, part.out.n_cols, part.out.row(i));
    }
  }
  exec.observe({.layer = layer, .name = part.sum_name}, part.out);
}

}  // namespace

void CpuBackend::linear(const PackedRows& x, std::span<const LinearPart> parts, Epilogue epilogue,
                        int layer) {
  FATHOM_CHECK(!parts.empty());
  for (const LinearPart& part : parts) {
    check_weight(exec_->kernels(), part.weight, x);
    check_rows(part.out);
    FATHOM_CHECK(part.out.n_rows == x.n_rows() && part.out.n_cols == part.weight.n_rows);
    FATHOM_CHECK(epilogue == Epilogue::kAddTo || part.scale == 1.0F);
  }
  if (x.n_rows() == 0) {
    return;
  }
  if (exec_->observed() && epilogue == Epilogue::kAddTo) {
    for (const LinearPart& part : parts) {
      add_watched(*exec_, x, part, layer);
    }
    return;
  }
  LinearJob(*exec_, x, parts, epilogue).run();
  for (const LinearPart& part : parts) {
    exec_->observe({.layer = layer, .name = part.name}, part.out);
  }
}

}  // namespace fathom::ops
