// Query, key and value rows on their way into the pages: per-head norm, rotation, page writes.
// Called by model through Backend. Read next: ops/cpu_attend.cc, which reads the pages.
#include <algorithm>

#include "base/check.h"
#include "ops/cpu_backend.h"
#include "ops/cpu_parts.h"

namespace fathom::ops {

namespace {

// Tokens of a unit of rotate_and_store: K interleaves 16 tokens in a page, so that workers share no
// cache line of it, and V's pairs of tokens stay with one worker.
constexpr int64_t kStoreTokens = 16;

// Units that a sequence's rows fall into: positions cut at multiples of 16.
int64_t store_units(const SequenceRows& sequence) {
  const int64_t last = sequence.first_position + sequence.n_rows - 1;
  return last / kStoreTokens - sequence.first_position / kStoreTokens + 1;
}

void norm_head(const kernels::KernelTable& table, const RotateAndStore& job, Norm norm, int head,
               float* values) {
  const int64_t offset = head * job.norm_stride;
  norm.weight = norm.weight == nullptr ? nullptr : norm.weight + offset;
  norm.bias = norm.bias == nullptr ? nullptr : norm.bias + offset;
  apply_norm(table, norm, values, job.head_dim, values);
}

void rotate_heads(const kernels::KernelTable& table, float* x, int n_heads,
                  const RotateAndStore& job, const Norm* norm, int64_t row) {
  const RopeView& rope = job.rope;
  for (int head = 0; head < n_heads; ++head) {
    float* values = x + static_cast<int64_t>(head) * job.head_dim;
    if (norm != nullptr && !job.norm_after_rope) {
      norm_head(table, job, *norm, head, values);
    }
    if (rope.n_pairs > 0) {
      table.rope[static_cast<size_t>(rope.style)](values + job.rope_first,
                                                  rope.cos + row * rope.n_pairs,
                                                  rope.sin + row * rope.n_pairs, rope.n_pairs);
    }
    if (norm != nullptr && job.norm_after_rope) {
      norm_head(table, job, *norm, head, values);
    }
  }
}

void store_row(const kernels::KernelTable& table, const RotateAndStore& job, int64_t row,
               int32_t page, int slot) {
  const auto type = static_cast<size_t>(job.pages.type);
  for (int64_t head = 0; head < job.n_kv_heads; ++head) {
    const auto kv_head = static_cast<int>(head);
    table.write_k[type](job.k.row(row) + head * job.head_dim, job.head_dim, slot,
                        job.pages.k_of(page, kv_head));
    table.write_v[type](job.v.row(row) + head * job.value_dim, job.value_dim, slot,
                        job.pages.v_of(page, kv_head));
  }
}

void store_unit(const Exec& exec, const RotateAndStore& job, int64_t unit) {
  const auto* sequence = job.sequences.data();
  while (unit >= store_units(*sequence)) {
    unit -= store_units(*sequence);
    ++sequence;
  }
  const int64_t start = (sequence->first_position / kStoreTokens + unit) * kStoreTokens;
  const int64_t first = std::max(start, sequence->first_position);
  const int64_t end = std::min(start + kStoreTokens, sequence->first_position + sequence->n_rows);
  for (int64_t position = first; position < end; ++position) {
    const int64_t row = sequence->first_row + position - sequence->first_position;
    rotate_heads(exec.kernels(), job.q.row(row), job.n_heads, job, job.q_norm, row);
    rotate_heads(exec.kernels(), job.k.row(row), job.n_kv_heads, job, job.k_norm, row);
    const int32_t page = sequence->pages[static_cast<size_t>(position / kPageTokens)];
    FATHOM_CHECK(page >= 0);
    store_row(exec.kernels(), job, row, page, static_cast<int>(position % kPageTokens));
  }
}

}  // namespace

void CpuBackend::rotate_and_store(const RotateAndStore& job, int layer) {
  check_rows(job.q);
  check_rows(job.k);
  check_rows(job.v);
  check_pages(job.pages);
  check_sequences(job.sequences, job.q.n_rows);
  FATHOM_CHECK(job.k.n_rows == job.q.n_rows && job.v.n_rows == job.q.n_rows);
  FATHOM_CHECK(job.head_dim == job.pages.head_dim && job.value_dim == job.pages.value_dim);
  FATHOM_CHECK(job.n_heads > 0 && job.n_kv_heads == job.pages.n_kv_heads);
  FATHOM_CHECK(job.q.n_cols == static_cast<int64_t>(job.n_heads) * job.head_dim);
  FATHOM_CHECK(job.k.n_cols == static_cast<int64_t>(job.n_kv_heads) * job.head_dim);
  FATHOM_CHECK(job.v.n_cols == static_cast<int64_t>(job.n_kv_heads) * job.value_dim);
  FATHOM_CHECK(job.rope.n_pairs >= 0 && job.rope_first >= 0);
  FATHOM_CHECK(job.rope_first + 2 * job.rope.n_pairs <= job.head_dim);
  FATHOM_CHECK(job.norm_stride == 0 || job.norm_stride >= job.head_dim);
  for (const Norm* norm : {job.q_norm, job.k_norm}) {
    if (norm != nullptr) {
      check_norm(*norm);
    }
  }
  int64_t n_units = 0;
  for (const SequenceRows& sequence : job.sequences) {
    n_units += store_units(sequence);
  }
  const int64_t n_values = job.q.n_rows * (job.q.n_cols + job.k.n_cols + job.v.n_cols);
  run_units(*exec_, n_units, n_values, [&](int64_t unit, int) { store_unit(*exec_, job, unit); });
  exec_->observe({.layer = layer, .name = "q_rope"}, job.q, DType::kF32, job.n_heads);
  exec_->observe({.layer = layer, .name = "k_rope"}, job.k, DType::kF32, job.n_kv_heads);
}

}  // namespace fathom::ops
