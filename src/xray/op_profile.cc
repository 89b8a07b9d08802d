// What each operation must read and compute follows from its arguments; the clock says how long it
// took.
// Called by api/session, apps/bench.
#include "xray/op_profile.h"

#include <algorithm>
#include <chrono>

namespace fathom::xray {

namespace {

using ops::Rows;
using ops::Site;
using quant::PackedMatrix;

// What a call costs besides time.
struct Cost {
  double bytes = 0;
  double operations = 0;
  bool is_integer = false;

  // A product of `matrix` with n_rows rows; it is read once however many they are.
  void add_product(const PackedMatrix& matrix, int64_t n_rows) {
    if (matrix.data == nullptr || n_rows == 0) {
      return;
    }
    bytes += static_cast<double>(quant::packed_bytes(matrix.type, matrix.n_rows, matrix.n_cols));
    operations += 2.0 * static_cast<double>(matrix.n_rows) * static_cast<double>(matrix.n_cols) *
                  static_cast<double>(n_rows);
    is_integer =
        matrix.type != DType::kF32 && matrix.type != DType::kBF16 && matrix.type != DType::kF16;
  }
};

constexpr Cost kNoCost = {};

// Bytes of `n_rows` rows of a table.
Cost row_cost(const PackedMatrix& table, size_t n_rows) {
  Cost cost;
  const double row_bytes =
      static_cast<double>(quant::group_bytes(table.type, table.n_cols)) / quant::kGroupRows;
  cost.bytes = row_bytes * static_cast<double>(n_rows);
  return cost;
}

// K and V that the rows of a step see: every page of the window is read once a sequence, every row
// is multiplied with the positions it sees.
Cost attend_cost(const ops::Attend& job) {
  Cost cost;
  const double head_values = job.pages.head_dim + job.pages.value_dim;
  const auto head_page = static_cast<double>(page_half_bytes(job.pages.type, job.pages.head_dim) +
                                             page_half_bytes(job.pages.type, job.pages.value_dim));
  for (const ops::SequenceRows& rows : job.sequences) {
    const int64_t end = rows.first_position + rows.n_rows;
    const int64_t begin =
        job.window > 0 ? std::max<int64_t>(0, rows.first_position + 1 - job.window) : 0;
    cost.bytes += static_cast<double>(end - begin) / kPageTokens * job.pages.n_kv_heads * head_page;
    double seen = 0;
    for (int64_t position = rows.first_position; position < end; ++position) {
      seen +=
          static_cast<double>(job.window > 0 ? std::min(position + 1, job.window) : position + 1);
    }
    cost.operations += 2.0 * seen * head_values * job.n_heads;
  }
  return cost;
}

// The names of a group's products, "q k v".
std::string names_of(std::span<const ops::LinearPart> parts) {
  std::string names;
  for (const ops::LinearPart& part : parts) {
    names += (names.empty() ? "" : " ") + std::string(part.name);
  }
  return names;
}

// Runs a call, measures it and adds it to the profile.
template <class Call>
void measure(OpProfile& profile, std::string_view op, std::string_view name, const Cost& cost,
             Call call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  profile.add({.op = std::string(op),
               .name = std::string(name),
               .calls = 1,
               .seconds = spent.count(),
               .bytes = cost.bytes,
               .operations = cost.operations,
               .is_integer = cost.is_integer});
}

}  // namespace

void OpProfile::add(const OpLine& line) {
  const auto found = std::find_if(lines_.begin(), lines_.end(), [&](const OpLine& entry) {
    return entry.op == line.op && entry.name == line.name;
  });
  if (found == lines_.end()) {
    lines_.push_back(line);
    return;
  }
  found->calls += line.calls;
  found->seconds += line.seconds;
  found->bytes += line.bytes;
  found->operations += line.operations;
}

double OpProfile::seconds() const {
  double sum = 0;
  for (const OpLine& line : lines_) {
    sum += line.seconds;
  }
  return sum;
}

void ProfilingBackend::embed(const PackedMatrix& table, std::span<const int32_t> ids, float scale,
                             const Rows& out, const Site& site) {
  measure(*profile_, "embed", site.name, row_cost(table, ids.size()),
          [&] { inner_->embed(table, ids, scale, out, site); });
}

void ProfilingBackend::add_positions(const PackedMatrix& table, std::span<const int64_t> positions,
                                     int64_t offset, const Rows& x, const Site& site) {
  measure(*profile_, "add_positions", site.name, row_cost(table, positions.size()),
          [&] { inner_->add_positions(table, positions, offset, x, site); });
}

void ProfilingBackend::norm_pack(const Rows& x, const ops::Norm& norm, ops::PackedRows& out,
                                 const Site& site) {
  measure(*profile_, "norm_pack", site.name, kNoCost,
          [&] { inner_->norm_pack(x, norm, out, site); });
}

void ProfilingBackend::norm(const Rows& x, const ops::Norm& norm, const Rows& out,
                            const Site& site) {
  measure(*profile_, "norm", site.name, kNoCost, [&] { inner_->norm(x, norm, out, site); });
}

void ProfilingBackend::pack(const Rows& x, ops::PackedRows& out, const Site& site) {
  measure(*profile_, "pack", site.name, kNoCost, [&] { inner_->pack(x, out, site); });
}

void ProfilingBackend::gather_pack(const Rows& x, std::span<const int32_t> rows,
                                   ops::PackedRows& out, const Site& site) {
  measure(*profile_, "gather_pack", site.name, kNoCost,
          [&] { inner_->gather_pack(x, rows, out, site); });
}

void ProfilingBackend::pack_heads(const Rows& x, int n_heads, int64_t first, int64_t step,
                                  ops::PackedRows& out, const Site& site) {
  measure(*profile_, "pack_heads", site.name, kNoCost,
          [&] { inner_->pack_heads(x, n_heads, first, step, out, site); });
}

void ProfilingBackend::linear(const ops::PackedRows& x, std::span<const ops::LinearPart> parts,
                              ops::Epilogue epilogue, int layer) {
  Cost cost;
  for (const ops::LinearPart& part : parts) {
    cost.add_product(part.weight, x.n_rows());
  }
  measure(*profile_, "linear", names_of(parts), cost,
          [&] { inner_->linear(x, parts, epilogue, layer); });
}

void ProfilingBackend::gated_linear(const ops::PackedRows& x, const ops::GatedLinear& linear,
                                    ops::PackedRows& out, int layer) {
  Cost cost;
  cost.add_product(linear.gate, x.n_rows());
  cost.add_product(linear.up, x.n_rows());
  measure(*profile_, "gated_linear", "ffn_hidden", cost,
          [&] { inner_->gated_linear(x, linear, out, layer); });
}

void ProfilingBackend::gate_pack(const Rows& gate, const Rows& up,
                                 const ops::HiddenActivation& hidden, ops::PackedRows& out,
                                 int layer) {
  measure(*profile_, "gate_pack", "ffn_hidden", kNoCost,
          [&] { inner_->gate_pack(gate, up, hidden, out, layer); });
}

void ProfilingBackend::grouped_linear(const ops::PackedRows& x, const ops::GroupedLinear& job,
                                      int layer) {
  Cost cost;
  for (size_t g = 0; g < job.weights.size(); ++g) {
    cost.add_product(job.weights[g], job.first_rows[g + 1] - job.first_rows[g]);
  }
  measure(*profile_, "grouped_linear", job.name, cost,
          [&] { inner_->grouped_linear(x, job, layer); });
}

void ProfilingBackend::grouped_gated_linear(const ops::PackedRows& x, const ops::GroupedGated& job,
                                            ops::PackedRows& out, int layer) {
  Cost cost;
  for (size_t g = 0; g < job.experts.size(); ++g) {
    const int64_t n_rows = job.first_rows[g + 1] - job.first_rows[g];
    cost.add_product(job.experts[g].gate, n_rows);
    cost.add_product(job.experts[g].up, n_rows);
  }
  measure(*profile_, "grouped_gated_linear", "expert_hidden", cost,
          [&] { inner_->grouped_gated_linear(x, job, out, layer); });
}

void ProfilingBackend::route(const Rows& logits, const ops::Router& router,
                             const ops::Routing& routing, int layer) {
  measure(*profile_, "route", "router_weights", kNoCost,
          [&] { inner_->route(logits, router, routing, layer); });
}

void ProfilingBackend::combine_experts(const Rows& y, const ops::Routing& routing, const Rows& out,
                                       const Site& site) {
  measure(*profile_, "combine_experts", site.name, kNoCost,
          [&] { inner_->combine_experts(y, routing, out, site); });
}

void ProfilingBackend::rotate_and_store(const ops::RotateAndStore& job, int layer) {
  measure(*profile_, "rotate_and_store", "q_rope k_rope", kNoCost,
          [&] { inner_->rotate_and_store(job, layer); });
}

void ProfilingBackend::attend(const ops::Attend& job, int layer) {
  measure(*profile_, "attend", "attn_values", attend_cost(job),
          [&] { inner_->attend(job, layer); });
}

void ProfilingBackend::add(const Rows& x, const Rows& y, float scale, const Site& site) {
  measure(*profile_, "add", site.name, kNoCost, [&] { inner_->add(x, y, scale, site); });
}

void ProfilingBackend::add_gated(const Rows& x, const Rows& y, const Rows& gate, const Site& site) {
  measure(*profile_, "add_gated", site.name, kNoCost, [&] { inner_->add_gated(x, y, gate, site); });
}

void ProfilingBackend::scale(const Rows& x, float factor, const Site& site) {
  measure(*profile_, "scale", site.name, kNoCost, [&] { inner_->scale(x, factor, site); });
}

void ProfilingBackend::clamp(const Rows& x, float limit, const Site& site) {
  measure(*profile_, "clamp", site.name, kNoCost, [&] { inner_->clamp(x, limit, site); });
}

void ProfilingBackend::copy_heads(const ops::HeadCopy& job) {
  measure(*profile_, "copy_heads", "", kNoCost, [&] { inner_->copy_heads(job); });
}

void ProfilingBackend::soft_cap(const Rows& x, float cap, const Site& site) {
  measure(*profile_, "soft_cap", site.name, kNoCost, [&] { inner_->soft_cap(x, cap, site); });
}

void ProfilingBackend::check_finite(const Rows& x, const Site& site) {
  measure(*profile_, "check_finite", site.name, kNoCost, [&] { inner_->check_finite(x, site); });
}

void ProfilingBackend::fill_rope(std::span<const int64_t> positions,
                                 std::span<const float> inv_freq, float magnitude, float* cos,
                                 float* sin) {
  measure(*profile_, "fill_rope", "", kNoCost,
          [&] { inner_->fill_rope(positions, inv_freq, magnitude, cos, sin); });
}

}  // namespace fathom::xray
