// The backend's buffers and the checks that its operations share.
// Called by model through Backend. Read next: ops/cpu_matmul.cc, ops/cpu_attend.cc,
// ops/cpu_rows.cc.
#include "ops/cpu_backend.h"

#include <cmath>

#include "base/check.h"
#include "base/det_math.h"
#include "ops/cpu_parts.h"
#include "quant/coarse.h"
#include "quant/packed.h"

namespace fathom::ops {

namespace {

// Slots for the partial spans of the largest step: one per (row, head, span).
int64_t split_slots(const SplitLimits& limits) {
  const int64_t n_spans = (limits.max_context + kSpanTokens - 1) / kSpanTokens;
  return n_spans < 2 ? 0 : limits.max_decode_rows * limits.n_heads * n_spans;
}

size_t state_bytes(int64_t n_slots) {
  return MemoryPool::padded_bytes(static_cast<size_t>(n_slots) * sizeof(float));
}

}  // namespace

CpuBackend::CpuBackend(Exec& exec, MemoryPool& pool, const SplitLimits& limits)
    : exec_(&exec), limits_(limits) {
  FATHOM_CHECK(limits.head_dim >= 0 && limits.head_dim <= kMaxHeadDim);
  split_ = reinterpret_cast<float*>(pool.allocate(split_bytes(limits)).data());
}

size_t CpuBackend::split_bytes(const SplitLimits& limits) {
  const int64_t n_slots = split_slots(limits);
  return 2 * state_bytes(n_slots) + state_bytes(n_slots * limits.head_dim);
}

void CpuBackend::attend(const Attend& job, int layer) {
  check_rows(job.q);
  check_rows(job.out);
  check_pages(job.pages);
  check_sequences(job.sequences, job.q.n_rows);
  FATHOM_CHECK(job.n_heads > 0 && job.n_heads % job.pages.n_kv_heads == 0);
  FATHOM_CHECK(job.q.n_cols == static_cast<int64_t>(job.n_heads) * job.pages.head_dim);
  FATHOM_CHECK(job.out.n_cols == static_cast<int64_t>(job.n_heads) * job.pages.value_dim);
  FATHOM_CHECK(job.out.n_rows == job.q.n_rows && job.window >= 0);
  if (job.kind == AttentionKind::kEager) {
    attend_eager(*exec_, job);
  } else {
    SpanBuffers buffers;
    if (job.pages.value_dim <= limits_.head_dim) {
      buffers.n_slots = split_slots(limits_);
      buffers.m = split_;
      buffers.l = buffers.m + state_bytes(buffers.n_slots) / sizeof(float);
      buffers.o = buffers.l + state_bytes(buffers.n_slots) / sizeof(float);
    }
    attend_flash(*exec_, job, buffers);
  }
  exec_->observe({.layer = layer, .name = "attn_values"}, job.out, DType::kF32, job.n_heads);
}

void check_sequences(std::span<const SequenceRows> sequences, int64_t n_rows) {
  int64_t next_row = 0;
  for (const SequenceRows& sequence : sequences) {
    FATHOM_CHECK(sequence.first_row == next_row && sequence.n_rows > 0);
    FATHOM_CHECK(sequence.first_position >= 0);
    const int64_t end_position = sequence.first_position + sequence.n_rows;
    FATHOM_CHECK(static_cast<int64_t>(sequence.pages.size()) * kPageTokens >= end_position);
    next_row += sequence.n_rows;
  }
  FATHOM_CHECK(next_row == n_rows);
}

void check_pages(const PagedView& pages) {
  FATHOM_CHECK(pages.base != nullptr && pages.n_kv_heads > 0);
  FATHOM_CHECK(pages.head_dim > 0 && pages.head_dim <= kMaxHeadDim);
  FATHOM_CHECK(pages.value_dim > 0 && pages.value_dim <= pages.head_dim);
}

void check_norm(const Norm& norm) {
  FATHOM_CHECK(norm.kind == NormKind::kLayer || (norm.weight != nullptr && norm.bias == nullptr));
}

void apply_norm(const kernels::KernelTable& table, const Norm& norm, const float* x, int64_t n,
                float* y) {
  if (norm.kind == NormKind::kRms) {
    table.rms_norm(x, norm.weight, n, norm.eps, y);
  } else {
    table.layer_norm(x, norm.weight, norm.bias, n, norm.eps, y);
  }
}

float sigmoid_of(float x) {
  constexpr float kLimit = 700.0F;  // of det_exp
  if (std::isnan(x)) {
    return x;
  }
  return static_cast<float>(1.0 / (1.0 + det_exp(-std::clamp(x, -kLimit, kLimit))));
}

DType type_of(const RowForms& forms) {
  if (forms.has(RowForm::kInt8)) {
    return DType::kI8;
  }
  return forms.has(RowForm::kBf16) ? DType::kBF16 : DType::kF32;
}

namespace {

// Packs x in every form of `out`; place(args) says where it goes.
template <class Place>
bool pack_all(const kernels::KernelTable& table, std::span<const float> x, int64_t row,
              int64_t first_block, PackedRows& out, const Place& place) {
  const auto placed = [&](auto args) {
    args.x = x.data();
    args.n = std::ssize(x);
    place(args);
    return args;
  };
  bool finite = true;
  if (out.is_coarse(row)) {
    constexpr int64_t kBlocks = quant::kCoarseK / quant::kBlockK;
    FATHOM_DCHECK(first_block % kBlocks == 0);
    kernels::CoarseRowArgs args = out.coarse_args(row, first_block / kBlocks);
    args.x = x.data();
    args.n = std::ssize(x);
    finite = table.quantize_coarse_row(args);
  } else if (out.forms().has(RowForm::kInt8)) {
    finite = table.quantize_row(placed(out.quantize_args(row, first_block)));
  }
  if (out.forms().has(RowForm::kBf16)) {
    table.round_row_bf16(placed(out.bf16_args(row, first_block)));
  }
  if (out.forms().has(RowForm::kF32)) {
    table.copy_row_f32(placed(out.f32_args(row, first_block)));
  }
  return finite;
}

}  // namespace

bool pack_row(const kernels::KernelTable& table, const float* x, int64_t n, int64_t row,
              int64_t first_block, PackedRows& out) {
  FATHOM_DCHECK(first_block * quant::kBlockK + n <= out.n_cols());
  return pack_all(table, {x, static_cast<size_t>(n)}, row, first_block, out, [](auto&) {});
}

bool pack_block(const kernels::KernelTable& table, const float* x, int64_t n_rows,
                int64_t first_row, int64_t block, PackedRows& out) {
  FATHOM_DCHECK((block + 1) * quant::kBlockK <= out.n_cols() && !out.has_coarse_rows());
  // As one long row whose blocks lie side by side.
  const auto n = static_cast<size_t>(n_rows * quant::kBlockK);
  return pack_all(table, {x, n}, first_row, block, out, [](auto& args) {
    args.first_block = args.first_block * args.n_rows + args.row;
    args.n_rows = 1;
    args.row = 0;
  });
}

}  // namespace fathom::ops
