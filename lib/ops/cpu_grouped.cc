// Products of many matrices of one shape, each with its own run of rows: experts, or heads.
// A unit is a run of columns of one group x up to 256 of its rows; groups without rows have none,
// so a decode step reads the chosen experts only, cut finely enough for all threads. The rows of a
// group go through the same tiles as in linear(): no bit depends on the other groups.
// Called by model through Backend. Read next: ops/cpu_matmul.cc, ops/cpu_experts.cc.
#include <algorithm>

#include "base/check.h"
#include "ops/cpu_backend.h"
#include "ops/cpu_matmul.h"
#include "ops/cpu_parts.h"

namespace fathom::ops {

namespace {

// Aborts unless the runs cover x's rows in order.
void check_runs(std::span<const int64_t> first_rows, size_t n_groups, int64_t n_rows) {
  FATHOM_CHECK(n_groups > 0 && first_rows.size() == n_groups + 1);
  FATHOM_CHECK(first_rows.front() == 0 && first_rows.back() == n_rows);
  for (size_t g = 0; g < n_groups; ++g) {
    FATHOM_CHECK(first_rows[g] <= first_rows[g + 1]);
  }
}

int64_t rows_of(std::span<const int64_t> first_rows, int64_t group) {
  const auto g = static_cast<size_t>(group);
  return first_rows[g + 1] - first_rows[g];
}

// Fills `runs` with the groups that have rows, `units_of(n_rows)` units each; gives their sum.
template <class F>
int64_t plan_runs(std::span<const int64_t> first_rows, const F& units_of,
                  std::vector<GroupRun>& runs) {
  runs.clear();
  runs.reserve(first_rows.size());
  int64_t n_units = 0;
  for (int64_t g = 0; g + 1 < static_cast<int64_t>(first_rows.size()); ++g) {
    const int64_t n_rows = rows_of(first_rows, g);
    if (n_rows > 0) {
      runs.push_back({.group = g, .first_unit = n_units});
      n_units += units_of(n_rows);
    }
  }
  return n_units;
}

// The group that a unit belongs to.
const GroupRun& run_of(const std::vector<GroupRun>& runs, int64_t unit) {
  const auto after =
      std::upper_bound(runs.begin(), runs.end(), unit,
                       [](int64_t u, const GroupRun& run) { return u < run.first_unit; });
  return *(after - 1);
}

// A block of one group's rows.
struct RowBlock {
  int64_t first = 0;  // of x
  int64_t n = 0;
};

RowBlock block_at(std::span<const int64_t> first_rows, int64_t group, int64_t index) {
  const int64_t n_rows = rows_of(first_rows, group);
  const RowCut cut = cut_rows(n_rows);
  const int64_t start = index * cut.per_block;
  return {.first = first_rows[static_cast<size_t>(group)] + start,
          .n = std::min(cut.per_block, n_rows - start)};
}

// One call of grouped_linear().
struct GroupedJob {
  const Exec* exec = nullptr;
  const GroupedLinear* linear = nullptr;
  kernels::RowsView rows;
  ColumnCut columns;

  [[nodiscard]] int64_t column_units(int64_t n_rows) const {
    const int64_t per_unit = columns.for_rows(n_rows);
    return (linear->weights.front().n_groups() + per_unit - 1) / per_unit;
  }

  void run_unit(const GroupRun& run, int64_t unit, int worker) const;
};

void GroupedJob::run_unit(const GroupRun& run, int64_t unit, int worker) const {
  const auto g = static_cast<size_t>(run.group);
  const int64_t n_rows = rows_of(linear->first_rows, run.group);
  const int64_t n_columns = column_units(n_rows);
  const int64_t index = unit - run.first_unit;
  const RowBlock block = block_at(linear->first_rows, run.group, index / n_columns);
  LinearPart part;
  part.weight = linear->weights[g];
  part.out = linear->out;
  if (!linear->biases.empty()) {
    part.bias = linear->biases[g];
  }
  LinearTile job;
  job.part = &part;
  job.tile.first_row = block.first;
  job.tile.n_rows = block.n;
  job.out_row = block.first;
  if (linear->group_cols > 0) {
    job.out_row -= linear->first_rows[g];
    part.out.data += run.group * linear->group_cols;
  }
  const int64_t per_unit = columns.for_rows(n_rows);
  const int64_t first = index % n_columns * per_unit;
  const int64_t end = std::min(first + per_unit, part.weight.n_groups());
  for (int64_t group = first; group < end; group += kTileGroups) {
    job.tile.first_group = group;
    job.tile.n_groups = static_cast<int>(std::min<int64_t>(kTileGroups, end - group));
    run_linear_tile(*exec, rows, job, worker);
  }
}

void check_grouped(const kernels::KernelTable& table, const GroupedLinear& job,
                   const PackedRows& x) {
  check_runs(job.first_rows, job.weights.size(), x.n_rows());
  check_rows(job.out);
  FATHOM_CHECK(job.biases.empty() || job.biases.size() == job.weights.size());
  const int64_t n_out = job.weights.front().n_rows;
  for (const quant::PackedMatrix& weight : job.weights) {
    check_weight(table, weight, x);
    FATHOM_CHECK(weight.n_rows == n_out);
  }
  if (job.group_cols == 0) {
    FATHOM_CHECK(job.out.n_rows == x.n_rows() && job.out.n_cols == n_out);
    return;
  }
  const auto n_groups = static_cast<int64_t>(job.weights.size());
  FATHOM_CHECK(job.group_cols >= n_out);
  FATHOM_CHECK((n_groups - 1) * job.group_cols + n_out <= job.out.n_cols);
  for (int64_t g = 0; g < n_groups; ++g) {
    FATHOM_CHECK(rows_of(job.first_rows, g) <= job.out.n_rows);
  }
}

}  // namespace

void CpuBackend::grouped_linear(const PackedRows& x, const GroupedLinear& job, int layer) {
  check_grouped(exec_->kernels(), job, x);
  if (x.n_rows() > 0) {
    GroupedJob grouped;
    grouped.exec = exec_;
    grouped.linear = &job;
    grouped.rows = x.view();
    const auto units_of = [&](int64_t n_rows) {
      return grouped.column_units(n_rows) * cut_rows(n_rows).n_blocks;
    };
    const quant::PackedMatrix& first = job.weights.front();
    const int64_t group_bytes = quant::group_bytes(first.type, first.n_cols);
    int64_t n_units = plan_runs(job.first_rows, units_of, runs_);
    while (n_units < wanted_units(*exec_) && grouped.columns.refine(group_bytes)) {
      n_units = plan_runs(job.first_rows, units_of, runs_);
    }
    exec_->threads().run(n_units, [&](int64_t unit, int worker) {
      grouped.run_unit(run_of(runs_, unit), unit, worker);
    });
  }
  exec_->observe({.layer = layer, .name = job.name}, job.out);
}

void CpuBackend::grouped_gated_linear(const PackedRows& x, const GroupedGated& job, PackedRows& out,
                                      int layer) {
  check_runs(job.first_rows, job.experts.size(), x.n_rows());
  const GatedLinear& first = job.experts.front();
  for (const GatedLinear& expert : job.experts) {
    check_gated(exec_->kernels(), expert, x);
    FATHOM_CHECK(expert.up.n_rows == out.n_cols());
    FATHOM_CHECK((expert.gate.data == nullptr) == (first.gate.data == nullptr));
  }
  FATHOM_CHECK(&x != &out);
  out.resize_like(x);
  if (x.n_rows() == 0) {
    return;
  }
  const WatchedRows hidden(exec_->observed(), x.n_rows(), out.n_cols());
  const Site site{.layer = layer, .name = "expert_hidden"};
  GatedProduct::Watched stores;
  stores.hidden = exec_->observed() ? &hidden.rows() : nullptr;
  const GatedProduct product(*exec_, x, out, site, stores, job.token_of);
  const int64_t n_columns = product.n_column_units(first);
  const auto units_of = [&](int64_t n_rows) { return n_columns * cut_rows(n_rows).n_blocks; };
  const int64_t n_units = plan_runs(job.first_rows, units_of, runs_);
  exec_->threads().run(n_units, [&](int64_t unit, int worker) {
    const GroupRun& run = run_of(runs_, unit);
    const int64_t index = unit - run.first_unit;
    const RowBlock block = block_at(job.first_rows, run.group, index / n_columns);
    product.run_unit(job.experts[static_cast<size_t>(run.group)], index % n_columns, block.first,
                     block.n, worker);
  });
  if (exec_->observed()) {
    exec_->observe(site, hidden.rows(), type_of(out.forms()));
  }
}

}  // namespace fathom::ops
