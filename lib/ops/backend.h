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

// An RMS norm: weight [n_cols], already 1 + w where a family stores w.
struct Norm {
  const float* weight = nullptr;
  float eps = 0.0F;
};

// One matrix of a group that shares its input.
struct LinearPart {
  quant::PackedMatrix weight;      // [n_out, n_in]
  const float* bias = nullptr;     // [n_out] or null
  Rows out;                        // [n_tokens, n_out]
  std::string_view name;           // for the observer: the product
  std::string_view sum_name = {};  // for the observer: `out` after kAddTo
};

enum class Epilogue : uint8_t {
  kStore,  // out = y
  kAddTo,  // out = rn(out + y): the residual sum
};

// Gate and up of a gated feed-forward: h = activation(gate x) * (up x).
struct GatedLinear {
  quant::PackedMatrix gate;  // [ffn_size, hidden]
  quant::PackedMatrix up;    // [ffn_size, hidden]
  const float* gate_bias = nullptr;
  const float* up_bias = nullptr;
  kernels::Activation activation = kernels::Activation::kSilu;
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
  Rows v;  // [n_tokens, n_kv_heads * head_dim]
  int n_heads = 0;
  int n_kv_heads = 0;
  int head_dim = 0;
  const Norm* q_norm = nullptr;  // per head, [head_dim], before the rotation; or null
  const Norm* k_norm = nullptr;
  RopeView rope;
  PagedView pages;  // of this layer
  std::span<const SequenceRows> sequences;
};

enum class AttentionKind : uint8_t { kFlash, kEager };

// Causal attention of a step's rows over the pages of their sequences (this step's K and V are in
// the pages already). Row at position p sees p - window < j <= p; window 0: all j <= p.
struct Attend {
  Rows q;    // [n_tokens, n_heads * head_dim]
  Rows out;  // the same shape
  int n_heads = 0;
  PagedView pages;
  std::span<const SequenceRows> sequences;
  int64_t window = 0;
  float scale = 1.0F;
  float soft_cap = 0.0F;
  AttentionKind kind = AttentionKind::kFlash;
};

class Backend {
 public:
  virtual ~Backend() = default;

  // out[i] = scale * row ids[i] of the table; ids were checked by the caller.
  virtual void embed(const quant::PackedMatrix& table, std::span<const int32_t> ids, float scale,
                     const Rows& out, const Site& site) = 0;

  // out = pack(norm(x)). Observer: "<site>" with the normed values.
  virtual void norm_pack(const Rows& x, const Norm& norm, PackedRows& out, const Site& site) = 0;

  // x = norm(x) in place (post-norms), or into `out`.
  virtual void norm(const Rows& x, const Norm& norm, const Rows& out, const Site& site) = 0;

  // out = pack(x).
  virtual void pack(const Rows& x, PackedRows& out, const Site& site) = 0;

  // All parts of the group in one pass over the threads. Observer: each part's own result
  // under its name, then with kAddTo the sum under its sum_name.
  virtual void linear(const PackedRows& x, std::span<const LinearPart> parts, Epilogue epilogue,
                      int layer) = 0;

  // out = pack(activation(gate x) * (up x)); gate and up are never stored unless observed:
  // "ffn_gate", "ffn_up", "ffn_hidden".
  virtual void gated_linear(const PackedRows& x, const GatedLinear& linear, PackedRows& out,
                            int layer) = 0;

  // q and k: per-head norm, rotation; k and v: written to the pages at their positions. Observer:
  // "q_rope", "k_rope".
  virtual void rotate_and_store(const RotateAndStore& job, int layer) = 0;

  // Observer: "attn_values".
  virtual void attend(const Attend& job, int layer) = 0;

  // x = rn(x + y)
  virtual void add(const Rows& x, const Rows& y, const Site& site) = 0;

  // x = cap * tanh(x / cap)
  virtual void soft_cap(const Rows& x, float cap, const Site& site) = 0;

  // cos and sin [n_tokens, n_pairs] of f32 angle = position * inv_freq[i], times `magnitude`.
  virtual void fill_rope(std::span<const int64_t> positions, std::span<const float> inv_freq,
                         float magnitude, float* cos, float* sin) = 0;
};

}  // namespace fathom::ops
