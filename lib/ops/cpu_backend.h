// The CPU's implementation of Backend: fixed work units over a thread pool, tile kernels from the
// table. Called by engine/api (makes one). Read next: ops/cpu_matmul.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/arena.h"
#include "ops/backend.h"
#include "ops/exec.h"

namespace fathom::ops {

// Sizes that attention's split over spans needs at most.
struct SplitLimits {
  int64_t max_decode_rows = 1;  // rows in one step that belong to sequences with few rows
  int n_heads = 0;
  int head_dim = 0;  // of the values
  int64_t max_context = 0;
};

// Units of one group with rows in a grouped product (ops/cpu_grouped.cc).
struct GroupRun {
  int64_t group = 0;
  int64_t first_unit = 0;
};

class CpuBackend final : public Backend {
 public:
  // `exec` must outlive the backend; buffers for partial spans come from `pool`.
  CpuBackend(Exec& exec, MemoryPool& pool, const SplitLimits& limits);

  // What the constructor takes from the pool.
  static size_t split_bytes(const SplitLimits& limits);

  void embed(const quant::PackedMatrix& table, std::span<const int32_t> ids, float scale,
             const Rows& out, const Site& site) override;
  void add_positions(const quant::PackedMatrix& table, std::span<const int64_t> positions,
                     int64_t offset, const Rows& x, const Site& site) override;
  void norm_pack(const Rows& x, const Norm& norm, PackedRows& out, const Site& site) override;
  void norm(const Rows& x, const Norm& norm, const Rows& out, const Site& site) override;
  void pack(const Rows& x, PackedRows& out, const Site& site) override;
  void gather_pack(const Rows& x, std::span<const int32_t> rows, PackedRows& out,
                   const Site& site) override;
  void pack_heads(const Rows& x, int n_heads, int64_t first, int64_t step, PackedRows& out,
                  const Site& site) override;
  void linear(const PackedRows& x, std::span<const LinearPart> parts, Epilogue epilogue,
              int layer) override;
  void gated_linear(const PackedRows& x, const GatedLinear& linear, PackedRows& out,
                    int layer) override;
  void gate_pack(const Rows& gate, const Rows& up, const HiddenActivation& hidden, PackedRows& out,
                 int layer) override;
  void grouped_linear(const PackedRows& x, const GroupedLinear& job, int layer) override;
  void grouped_gated_linear(const PackedRows& x, const GroupedGated& job, PackedRows& out,
                            int layer) override;
  void route(const Rows& logits, const Router& router, const Routing& routing, int layer) override;
  void combine_experts(const Rows& y, const Routing& routing, const Rows& out,
                       const Site& site) override;
  void rotate_and_store(const RotateAndStore& job, int layer) override;
  void attend(const Attend& job, int layer) override;
  void add(const Rows& x, const Rows& y, float scale, const Site& site) override;
  void add_gated(const Rows& x, const Rows& y, const Rows& gate, const Site& site) override;
  void scale(const Rows& x, float factor, const Site& site) override;
  void clamp(const Rows& x, float limit, const Site& site) override;
  void copy_heads(const HeadCopy& job) override;
  void soft_cap(const Rows& x, float cap, const Site& site) override;
  void check_finite(const Rows& x, const Site& site) override;
  void fill_rope(std::span<const int64_t> positions, std::span<const float> inv_freq,
                 float magnitude, float* cos, float* sin) override;

 private:
  Exec* exec_;
  SplitLimits limits_;
  float* split_ = nullptr;
  std::vector<GroupRun> runs_;  // of the grouped product at work; keeps its room
};

}  // namespace fathom::ops
