// Time, memory traffic and arithmetic of every operation of a forward pass: a Backend around
// another one that measures each call.
// Called by api/session (puts it in), apps/bench --ops (reads it). Read next: ops/backend.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "ops/backend.h"

namespace fathom::xray {

// All calls of one operation on tensors of one name, over all layers.
struct OpLine {
  std::string op;    // "linear", "attend", ...
  std::string name;  // what the observer calls the results: "q k v", "attn_norm"
  int64_t calls = 0;
  double seconds = 0;
  double bytes = 0;       // that must come from memory: weights, pages of the KV cache
  double operations = 0;  // multiplications and additions of products, two for each weight and row
  bool is_integer = false;  // the products are int8
};

// Thread rule: used by the thread that runs the steps.
class OpProfile {
 public:
  // To the line of the same operation and name, or as a new one.
  void add(const OpLine& line);

  // In the order in which they came first.
  [[nodiscard]] const std::vector<OpLine>& lines() const { return lines_; }

  // The sum over all lines.
  [[nodiscard]] double seconds() const;

  void clear() { lines_.clear(); }

 private:
  std::vector<OpLine> lines_;
};

// Hands every operation on to `inner` and measures it. The results are inner's: the same bits.
class ProfilingBackend final : public ops::Backend {
 public:
  // Both must outlive this.
  ProfilingBackend(ops::Backend& inner, OpProfile& profile) : inner_(&inner), profile_(&profile) {}

  void embed(const quant::PackedMatrix& table, std::span<const int32_t> ids, float scale,
             const ops::Rows& out, const ops::Site& site) override;
  void add_positions(const quant::PackedMatrix& table, std::span<const int64_t> positions,
                     int64_t offset, const ops::Rows& x, const ops::Site& site) override;
  void norm_pack(const ops::Rows& x, const ops::Norm& norm, ops::PackedRows& out,
                 const ops::Site& site) override;
  void norm(const ops::Rows& x, const ops::Norm& norm, const ops::Rows& out,
            const ops::Site& site) override;
  void pack(const ops::Rows& x, ops::PackedRows& out, const ops::Site& site) override;
  void gather_pack(const ops::Rows& x, std::span<const int32_t> rows, ops::PackedRows& out,
                   const ops::Site& site) override;
  void pack_heads(const ops::Rows& x, int n_heads, int64_t first, int64_t step,
                  ops::PackedRows& out, const ops::Site& site) override;
  void linear(const ops::PackedRows& x, std::span<const ops::LinearPart> parts,
              ops::Epilogue epilogue, int layer) override;
  void gated_linear(const ops::PackedRows& x, const ops::GatedLinear& linear, ops::PackedRows& out,
                    int layer) override;
  void gate_pack(const ops::Rows& gate, const ops::Rows& up, const ops::HiddenActivation& hidden,
                 ops::PackedRows& out, int layer) override;
  void grouped_linear(const ops::PackedRows& x, const ops::GroupedLinear& job, int layer) override;
  void grouped_gated_linear(const ops::PackedRows& x, const ops::GroupedGated& job,
                            ops::PackedRows& out, int layer) override;
  void route(const ops::Rows& logits, const ops::Router& router, const ops::Routing& routing,
             int layer) override;
  void combine_experts(const ops::Rows& y, const ops::Routing& routing, const ops::Rows& out,
                       const ops::Site& site) override;
  void rotate_and_store(const ops::RotateAndStore& job, int layer) override;
  void attend(const ops::Attend& job, int layer) override;
  void add(const ops::Rows& x, const ops::Rows& y, float scale, const ops::Site& site) override;
  void add_gated(const ops::Rows& x, const ops::Rows& y, const ops::Rows& gate,
                 const ops::Site& site) override;
  void scale(const ops::Rows& x, float factor, const ops::Site& site) override;
  void clamp(const ops::Rows& x, float limit, const ops::Site& site) override;
  void copy_heads(const ops::HeadCopy& job) override;
  void soft_cap(const ops::Rows& x, float cap, const ops::Site& site) override;
  void check_finite(const ops::Rows& x, const ops::Site& site) override;
  void fill_rope(std::span<const int64_t> positions, std::span<const float> inv_freq,
                 float magnitude, float* cos, float* sin) override;

 private:
  ops::Backend* inner_;
  OpProfile* profile_;
};

}  // namespace fathom::xray
