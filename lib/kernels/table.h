// Every tile kernel as a typed function pointer. A table starts from the scalar kernels, which are
// the definition (docs/numbers.md), and each instruction set overwrites the entries it has with
// twins that give the same bits.
// Called by ops. Kernels are noexcept, allocate nothing, start no threads; ops has checked shapes.
// Read next: kernels/entries.h (the list of entries), kernels/scalar/matmul.cc, kernels/dispatch.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"
#include "base/dtype.h"
#include "base/paged_view.h"
#include "quant/packed.h"

namespace fathom::kernels {

// Activations ready to multiply. K is cut into blocks of 32 (the last zero-padded); all arrays are
// [n_blocks][n_rows] outermost-first, so that many rows of one block are contiguous. The last of
// the n_rows may hold nothing: they keep blocks from lying powers of two apart.
struct RowsView {
  int64_t n_rows = 0;
  int64_t n_blocks = 0;
  // int8 form (weights in blocks); null when not filled
  const int8_t* q = nullptr;           // [n_blocks][n_rows][32]
  const float* d = nullptr;            // [n_blocks][n_rows]  scale
  const float* ds = nullptr;           // [n_blocks][n_rows]  rn(d * sum)
  const int32_t* sums = nullptr;       // [n_blocks][n_rows]  sum of the 32 q
  const int32_t* half_sums = nullptr;  // [n_blocks][n_rows][2]  of the first and second 16
  // float forms: bf16-rounded values held as f32 (BF16 weights), and plain f32 (F32 weights)
  const float* bf16 = nullptr;  // [n_blocks][n_rows][32]
  const float* f32 = nullptr;   // [n_blocks][n_rows][32]
  // coarse form, int8 per 256 (`--arithmetic fast`): c blocks of 256, s steps of 64, zero-padded
  const int8_t* coarse_q = nullptr;      // [s][n_rows][64]
  const float* coarse_d = nullptr;       // [c][n_rows]  scale
  const int32_t* coarse_sums = nullptr;  // [c][n_rows]  sum of the 256 q
  const bool* is_coarse = nullptr;       // [n_rows] rows held in this form and not in the int8 one
  // the values of bf16 as bf16, for tiles; null when not filled
  const uint16_t* halves = nullptr;  // [n_blocks][n_rows][32]
};

// Rows of a weight matrix times rows of activations, all of K:
//   out[m * out_stride + 16 g + lane] = sum over k of W[16 g + lane][k] * x[first_row + m][k]
// in the order of docs/numbers.md: per 32-block (or 16-group) one rounded term, from +0 inside
// segments of 512 k, segments added in order.
struct MatmulArgs {
  const std::byte* weights = nullptr;  // first group
  int64_t group_stride_bytes = 0;
  int n_groups = 0;    // 1..4
  int64_t n_cols = 0;  // K as the matrix has it
  RowsView rows;
  int64_t first_row = 0;
  int64_t n_rows = 0;    // `few`: 1..4, `many`: any
  float* out = nullptr;  // 16-float aligned not required
  int64_t out_stride = 0;
  std::byte* scratch = nullptr;  // kMatmulScratchBytes, 64-byte aligned, per worker
};

inline constexpr int kMatmulScratchBytes = 128 * 1024;
inline constexpr int kFewRows = 4;  // up to here `few` is used

using MatmulFn = void (*)(const MatmulArgs&) noexcept;

// Writes row `row` of the int8 form. False when a block's largest magnitude is Inf or NaN (that
// block is written as zeros).
struct QuantizeArgs {
  const float* x = nullptr;  // [n]
  int64_t n = 0;             // real elements; the last block is zero-padded
  int64_t row = 0;
  int64_t n_rows = 0;       // rows of the destination
  int64_t first_block = 0;  // destination block of x[0]
  int8_t* q = nullptr;
  float* d = nullptr;
  float* ds = nullptr;
  int32_t* sums = nullptr;
  int32_t* half_sums = nullptr;
};

// Writes row `row` of the coarse form. False when a block's largest magnitude is Inf or NaN (that
// block is written as zeros).
struct CoarseRowArgs {
  const float* x = nullptr;  // [n]
  int64_t n = 0;             // real elements; the last step of 64 is zero-padded
  int64_t row = 0;
  int64_t n_rows = 0;       // rows of the destination
  int64_t first_block = 0;  // destination block of 256 of x[0]
  int8_t* q = nullptr;
  float* d = nullptr;
  int32_t* sums = nullptr;
};

// Writes row `row` of a float form, rounding to bf16 (|x| < 2^-50 becomes 0) or not.
struct FloatRowArgs {
  const float* x = nullptr;
  int64_t n = 0;
  int64_t row = 0;
  int64_t n_rows = 0;
  int64_t first_block = 0;
  float* out = nullptr;        // [n_blocks][n_rows][32]
  uint16_t* halves = nullptr;  // the same as bf16 when rounding; null: not wanted
};

// kRelu2: relu(x)^2. kQuickGelu: x * sigmoid(1.702 x).
enum class Activation : uint8_t { kSilu, kGeluTanh, kGeluErf, kRelu, kRelu2, kQuickGelu };

inline constexpr int kNumActivations = 6;

enum class RopeStyle : uint8_t { kHalves, kPairs };  // i with i + d/2, or 2i with 2i + 1

// One span (at most 512 positions, 8 pages) of one KV head for `n_rows` query rows. State per row:
// maximum m, sum l, output o [value_dim]; the kernel sets it for this span alone.
struct AttendArgs {
  const float* q = nullptr;  // [n_rows][q_stride]: bf16 pages: bf16-rounded values; others: as is
  int64_t q_stride = 0;
  int n_rows = 0;                       // 1..64
  int head_dim = 0;                     // of Q and K, at most 576
  int value_dim = 0;                    // of V and o, at most head_dim
  const std::byte* const* k = nullptr;  // [n_pages] K of this head in each page of the span
  const std::byte* const* v = nullptr;  // [n_pages]
  int n_pages = 0;
  int64_t first_position = 0;              // position of key 0 of page 0, a multiple of kSpanTokens
  const int64_t* first_visible = nullptr;  // [n_rows] smallest visible position
  const int64_t* last_visible = nullptr;   // [n_rows] largest; a row may see nothing of this span
  float scale = 1.0F;
  float soft_cap = 0.0F;  // 0: none
  // ALiBi: score = fma(slope, key position - last_visible, score), after the cap; null: none
  const float* slopes = nullptr;  // [n_rows]
  float* m = nullptr;             // [n_rows]
  float* l = nullptr;             // [n_rows]
  float* o = nullptr;             // [n_rows][value_dim]
  std::byte* scratch = nullptr;   // kAttendScratchBytes, 64-byte aligned, per worker
};

inline constexpr int kAttendScratchBytes = 512 * 1024;
inline constexpr float kAttendMaxStart = -1e30F;  // the running maximum's finite start

struct KernelTable {
  // Matrix products by packed type, few (1..4) and many rows.
  MatmulFn matmul_few[kNumDTypes] = {};
  MatmulFn matmul_many[kNumDTypes] = {};
  // The same of integer types, weights re-scaled to int8 per 256 k, times the coarse form of rows:
  // another arithmetic (docs/numbers.md, "Fast prompts"). Any number of rows.
  MatmulFn matmul_coarse[kNumDTypes] = {};
  // A second one of the same bits, where the moment decides which is faster; null: none.
  MatmulFn matmul_many_also[kNumDTypes] = {};

  // Rows of activations.
  bool (*quantize_row)(const QuantizeArgs&) noexcept = nullptr;
  bool (*quantize_coarse_row)(const CoarseRowArgs&) noexcept = nullptr;
  void (*round_row_bf16)(const FloatRowArgs&) noexcept = nullptr;
  void (*copy_row_f32)(const FloatRowArgs&) noexcept = nullptr;

  // y[n] = (x * (1 / sqrt(mean(x^2) + eps))) * w; x and y may be the same.
  void (*rms_norm)(const float* x, const float* w, int64_t n, float eps,
                   float* y) noexcept = nullptr;
  // y[n] = ((x - mean) * (1 / sqrt(mean((x - mean)^2) + eps))) * w + b; w and b may be null (1, 0);
  // x and y may be the same. Source: arXiv 1607.06450.
  void (*layer_norm)(const float* x, const float* w, const float* b, int64_t n, float eps,
                     float* y) noexcept = nullptr;
  // y[n] = activation(gate) * up
  void (*gated[kNumActivations])(const float* gate, const float* up, int64_t n,
                                 float* y) noexcept = {};
  // y[n] = activation(x); x and y may be the same
  void (*activate[kNumActivations])(const float* x, int64_t n, float* y) noexcept = {};
  // y[n] = (clamp(up, -limit, limit) + 1) * (g * sigmoid(1.702 g)), g = min(gate, limit)
  void (*clamped_swiglu)(const float* gate, const float* up, int64_t n, float limit,
                         float* y) noexcept = nullptr;
  // y[n] = a + b; y may be a or b
  void (*add)(const float* a, const float* b, int64_t n, float* y) noexcept = nullptr;
  // y[n] = x * factor
  void (*scale)(const float* x, float factor, int64_t n, float* y) noexcept = nullptr;
  // x[n] = x + rn(factor * y): a branch's output under a residual multiplier, an expert's under its
  // weight
  void (*add_scaled)(const float* y, float factor, int64_t n, float* x) noexcept = nullptr;
  // x[n] = min(max(x, -limit), limit); NaN stays
  void (*clamp)(float* x, int64_t n, float limit) noexcept = nullptr;
  // x[n] = cap * tanh(x / cap)
  void (*soft_cap)(float* x, int64_t n, float cap) noexcept = nullptr;
  // Rotates the first 2 * n_pairs elements of x with cos/sin [n_pairs].
  void (*rope[2])(float* x, const float* cos, const float* sin, int64_t n_pairs) noexcept = {};

  // One token's K (V) of one head, [head_dim] ([value_dim]) f32, into slot 0..63 of a page. int8:
  // Inf or NaN among them gives zero codes and a NaN scale, so that what reads them is NaN as well.
  void (*write_k[kNumPageTypes])(const float* x, int head_dim, int slot,
                                 std::byte* page) noexcept = {};
  void (*write_v[kNumPageTypes])(const float* x, int head_dim, int slot,
                                 std::byte* page) noexcept = {};

  void (*attend_span[kNumPageTypes])(const AttendArgs&) noexcept = {};
  // (m, l, o) absorbs the next span's; head_dim here is that of o: docs/numbers.md, "Attention".
  void (*merge_span)(float* m, float* l, float* o, const float* m2, const float* l2,
                     const float* o2, int head_dim) noexcept = nullptr;
  // o[head_dim] = o / l
  void (*finish_attend)(float* o, float l, int head_dim) noexcept = nullptr;
};

}  // namespace fathom::kernels
