// The operations of a forward pass, fused where that saves a pass over the activations. A device
// implements this interface; the CPU does it in ops/cpu_backend.h.
// Every operation checks its shapes, offers its results to the observer (which gets the same bits
// as when nobody watches), splits its work over the threads and calls the kernel table.
// Called by model. Read next: ops/cpu_matmul.cc, ops/cpu_store.cc, ops/cpu_attend.cc,
// ops/cpu_rows.cc.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/paged_view.h"
#include "kernels/table.h"
#include "ops/packed_rows.h"
#include "ops/rows.h"
#include "quant/packed.h"

namespace fathom::ops {

enum class NormKind : uint8_t { kRms, kLayer };

// A norm over the last dimension: weight [n_cols], already 1 + w where a family stores w. A layer
// norm may lack weight and bias; an RMS norm has a weight and no bias.
struct Norm {
  const float* weight = nullptr;
  const float* bias = nullptr;
  float eps = 0.0F;
  NormKind kind = NormKind::kRms;
};

// One matrix of a group that shares its input.
struct LinearPart {
  quant::PackedMatrix weight;      // [n_out, n_in]
  const float* bias = nullptr;     // [n_out] or null
  Rows out;                        // [n_tokens, n_out]
  std::string_view name;           // for the observer: the product
  std::string_view sum_name = {};  // for the observer: `out` after kAddTo
  float scale = 1.0F;              // kAddTo: out = out + rn(scale * y)
};

enum class Epilogue : uint8_t {
  kStore,  // out = y
  kAddTo,  // out = rn(out + y): the residual sum
};

// How the hidden values of a feed-forward come about.
struct HiddenActivation {
  kernels::Activation activation = kernels::Activation::kSilu;
  float clamp = 0.0F;  // > 0: clamped_swiglu with this limit instead of `activation`
};

// Gate and up of a gated feed-forward: h = activation(gate x) * (up x); without a gate (its data
// null) h = activation(up x).
struct GatedLinear {
  quant::PackedMatrix gate;  // [ffn_size, hidden]
  quant::PackedMatrix up;    // [ffn_size, hidden]
  const float* gate_bias = nullptr;
  const float* up_bias = nullptr;
  HiddenActivation hidden;
};

// Matrices of one shape that each multiply their own run of rows: experts (rows sorted by expert)
// or heads (rows sorted by head). Rows first_rows[g] .. first_rows[g + 1] of x belong to group g.
struct GroupedLinear {
  std::span<const quant::PackedMatrix> weights;  // [n_groups], each [n_out, n_in]
  std::span<const float* const> biases;          // [n_groups] of [n_out], or empty
  std::span<const int64_t> first_rows;           // [n_groups + 1], the last is x's number of rows
  Rows out;
  // 0: row i of x gives row i of `out`. Otherwise row i of group g gives row i - first_rows[g],
  // from column g * group_cols on.
  int64_t group_cols = 0;
  std::string_view name;
};

// The gated feed-forward of each expert for its own run of rows.
struct GroupedGated {
  std::span<const GatedLinear> experts;  // [n_groups], one shape
  std::span<const int64_t> first_rows;   // [n_groups + 1]
  std::span<const int32_t> token_of;     // the batch's row of each of x's; empty: the same
};

// How a router's logits become choices and weights; every order of steps that a family has.
enum class RouterKind : uint8_t {
  kSoftmax,      // softmax over all experts, then the top k
  kTopKSoftmax,  // the top k logits, softmax over those
  kSigmoid,      // sigmoid of each, choice by sigmoid + bias, weights the bare sigmoids
  kSparseMixer,  // arXiv 2409.12136: two picks, each weighed against its near rivals
};

struct Router {
  RouterKind kind = RouterKind::kSoftmax;
  int n_used = 0;
  bool renormalize = false;     // weights / their sum (kSigmoid: / (sum + 1e-20))
  float scale = 1.0F;           // on the weights, last
  const float* bias = nullptr;  // [n_experts] added for choosing only
  int n_groups = 1;             // experts in so many groups; only the best groups_used stay
  int groups_used = 1;
  int group_top = 1;    // a group's score: sum of its so many best
  float jitter = 0.0F;  // kSparseMixer: router_jitter_noise
};

// Choices of a step, sorted for grouped products. All spans are the caller's buffers.
struct Routing {
  std::span<int32_t> experts;     // [n_tokens * n_used] by (token, slot), the best first
  std::span<float> weights;       // [n_tokens * n_used] by (token, slot)
  std::span<int32_t> token_of;    // [n_tokens * n_used] token of each sorted row
  std::span<int32_t> row_of;      // [n_tokens * n_used] sorted row of each (token, slot)
  std::span<int64_t> first_rows;  // [n_experts + 1]
};

// Rotation tables of one step: cos and sin [n_tokens, n_pairs]; shared by all layers of a kind.
struct RopeView {
  const float* cos = nullptr;
  const float* sin = nullptr;
  int64_t n_pairs = 0;  // half of the rotated part of a head
  kernels::RopeStyle style = kernels::RopeStyle::kHalves;
};

// Query, key and value rows of a step on their way into the pages.
struct RotateAndStore {
  Rows q;  // [n_tokens, n_heads * head_dim], changed in place
  Rows k;  // [n_tokens, n_kv_heads * head_dim], changed in place
  Rows v;  // [n_tokens, n_kv_heads * value_dim]
  int n_heads = 0;
  int n_kv_heads = 0;
  int head_dim = 0;
  int value_dim = 0;             // of v; v has n_kv_heads * value_dim columns
  const Norm* q_norm = nullptr;  // per head; or null
  const Norm* k_norm = nullptr;
  int64_t norm_stride = 0;  // floats from one head's norm weight to the next; 0: shared [head_dim]
  bool norm_after_rope = false;
  int rope_first = 0;  // first rotated element of a head
  RopeView rope;       // n_pairs 0: no rotation
  PagedView pages;     // of this layer
  std::span<const SequenceRows> sequences;
};

enum class AttentionKind : uint8_t { kFlash, kEager };

// Causal attention of a step's rows over the pages of their sequences (this step's K and V are in
// the pages already). Row at position p sees p - window < j <= p; window 0: all j <= p.
struct Attend {
  Rows q;    // [n_tokens, n_heads * head_dim]
  Rows out;  // [n_tokens, n_heads * value_dim]
  int n_heads = 0;
  PagedView pages;
  std::span<const SequenceRows> sequences;
  int64_t window = 0;
  float scale = 1.0F;
  float soft_cap = 0.0F;
  const float* sinks = nullptr;   // [n_heads] a logit that joins the softmax and has no value
  const float* slopes = nullptr;  // [n_heads] ALiBi
  AttentionKind kind = AttentionKind::kFlash;
};

struct HeadCopy {
  Rows from;
  int64_t from_first = 0;
  int64_t from_step = 0;
  Rows to;
  int64_t to_first = 0;
  int64_t to_step = 0;
  int n_heads = 0;
  int64_t n_cols = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  // out[i] = scale * row ids[i] of the table; ids were checked by the caller.
  virtual void embed(const quant::PackedMatrix& table, std::span<const int32_t> ids, float scale,
                     const Rows& out, const Site& site) = 0;

  // x[i] = x[i] + row positions[i] + offset of the table (learned positions).
  virtual void add_positions(const quant::PackedMatrix& table, std::span<const int64_t> positions,
                             int64_t offset, const Rows& x, const Site& site) = 0;

  // out = pack(norm(x)). Observer: "<site>" with the normed values.
  virtual void norm_pack(const Rows& x, const Norm& norm, PackedRows& out, const Site& site) = 0;

  // x = norm(x) in place (post-norms), or into `out`.
  virtual void norm(const Rows& x, const Norm& norm, const Rows& out, const Site& site) = 0;

  // out = pack(x).
  virtual void pack(const Rows& x, PackedRows& out, const Site& site) = 0;

  // out row i = pack(x row rows[i]): the inputs of experts, sorted.
  virtual void gather_pack(const Rows& x, std::span<const int32_t> rows, PackedRows& out,
                           const Site& site) = 0;

  // Row (h * n_tokens + t) of out = pack(n_cols values of x row t from column first + h * step on):
  // the inputs of per-head matrices. out.n_cols() values each.
  virtual void pack_heads(const Rows& x, int n_heads, int64_t first, int64_t step, PackedRows& out,
                          const Site& site) = 0;

  // All parts of the group in one pass over the threads. Observer: each part's own result
  // under its name, then with kAddTo the sum under its sum_name.
  virtual void linear(const PackedRows& x, std::span<const LinearPart> parts, Epilogue epilogue,
                      int layer) = 0;

  // out = pack(activation(gate x) * (up x)); gate and up are never stored unless observed:
  // "ffn_gate", "ffn_up", "ffn_hidden".
  virtual void gated_linear(const PackedRows& x, const GatedLinear& linear, PackedRows& out,
                            int layer) = 0;

  // out = pack(activation(gate) * up), or of activation(up) with gate.data null: the unfused form,
  // where something (an adapter) was added to gate or up in between.
  virtual void gate_pack(const Rows& gate, const Rows& up, const HiddenActivation& hidden,
                         PackedRows& out, int layer) = 0;

  virtual void grouped_linear(const PackedRows& x, const GroupedLinear& job, int layer) = 0;

  // Observer: "expert_hidden".
  virtual void grouped_gated_linear(const PackedRows& x, const GroupedGated& job, PackedRows& out,
                                    int layer) = 0;

  // Chooses experts from logits [n_tokens, n_experts] and sorts the (token, slot) pairs by expert,
  // by token within one. Ties go to the lower expert. Observer: "router_weights" [n_tokens,
  // n_used].
  virtual void route(const Rows& logits, const Router& router, const Routing& routing,
                     int layer) = 0;

  // out[t] = sum over slots, in order, of weight * y[row_of]: first rn(w0 * y0), then x + rn(w *
  // y).
  virtual void combine_experts(const Rows& y, const Routing& routing, const Rows& out,
                               const Site& site) = 0;

  // q and k: per-head norm, rotation; k and v: written to the pages at their positions. Observer:
  // "q_rope", "k_rope".
  virtual void rotate_and_store(const RotateAndStore& job, int layer) = 0;

  // Observer: "attn_values".
  virtual void attend(const Attend& job, int layer) = 0;

  // x = rn(x + rn(scale * y)); scale 1: rn(x + y)
  virtual void add(const Rows& x, const Rows& y, float scale, const Site& site) = 0;

  // x[t][c] = x[t][c] + rn(sigmoid(gate[t]) * y[t][c]), gate [n_tokens, 1]: a gated shared expert.
  virtual void add_gated(const Rows& x, const Rows& y, const Rows& gate, const Site& site) = 0;

  // x = factor * x
  virtual void scale(const Rows& x, float factor, const Site& site) = 0;

  // x = min(max(x, -limit), limit)
  virtual void clamp(const Rows& x, float limit, const Site& site) = 0;

  // Copies n_cols values per head: to row t, column to_first + h * to_step <- from row t, column
  // from_first + h * from_step.
  virtual void copy_heads(const HeadCopy& job) = 0;

  // x = cap * tanh(x / cap)
  virtual void soft_cap(const Rows& x, float cap, const Site& site) = 0;

  // A NaN or infinity in x is a fault of its row: for results that nothing packs.
  virtual void check_finite(const Rows& x, const Site& site) = 0;

  // cos and sin [n_tokens, n_pairs] of f32 angle = position * inv_freq[i], times `magnitude`.
  virtual void fill_rope(std::span<const int64_t> positions, std::span<const float> inv_freq,
                         float magnitude, float* cos, float* sin) = 0;
};

}  // namespace fathom::ops
