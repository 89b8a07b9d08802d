// Pages of one layer in plain memory, and sequences whose K and V are stored through the backend.
// Called by the attention tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "base/paged_view.h"
#include "lib/ops/rig.h"

namespace fathom::ops {

// Sizes of an attention; head_dim may be odd.
struct Shape {
  int n_heads = 6;
  int n_kv_heads = 2;
  int head_dim = 16;
  PageType type = PageType::kBF16;
  int narrow_values = 0;  // of V; 0: as wide as K

  [[nodiscard]] int value_dim() const { return narrow_values > 0 ? narrow_values : head_dim; }
};

// Zeroed pages, laid out as base/paged_view.h says.
class Pages {
 public:
  Pages(const Shape& shape, int n_pages) {
    view_.v_offset_bytes = page_half_bytes(shape.type, shape.head_dim);
    view_.head_stride_bytes = view_.v_offset_bytes + page_half_bytes(shape.type, shape.value_dim());
    view_.page_stride_bytes = view_.head_stride_bytes * shape.n_kv_heads;
    view_.type = shape.type;
    view_.n_kv_heads = shape.n_kv_heads;
    view_.head_dim = shape.head_dim;
    view_.value_dim = shape.value_dim();
    storage_.resize(static_cast<size_t>(view_.page_stride_bytes * n_pages) + 64);
    const auto address = reinterpret_cast<uintptr_t>(storage_.data());
    view_.base = storage_.data() + (64 - address % 64) % 64;
  }

  [[nodiscard]] const PagedView& view() const { return view_; }

 private:
  std::vector<std::byte> storage_;
  PagedView view_;
};

// q, k and v of positions 0 .. n of one sequence, and its page table: every third page of the pool.
struct Sequence {
  Sequence(const Shape& shape, int64_t n_positions, uint32_t seed, int32_t first_page)
      : n(n_positions),
        q(Matrix::random(n_positions, int64_t{shape.n_heads} * shape.head_dim, seed, 1.0F)),
        k(Matrix::random(n_positions, int64_t{shape.n_kv_heads} * shape.head_dim, seed + 1, 1.0F)),
        v(Matrix::random(n_positions, int64_t{shape.n_kv_heads} * shape.value_dim(), seed + 2,
                         1.0F)) {
    for (int64_t page = 0; page * kPageTokens < n_positions; ++page) {
      table.push_back(first_page + 3 * static_cast<int32_t>(page));
    }
    std::reverse(table.begin(), table.end());
  }

  // Rows of a step that holds positions [first, first + count) at row `first_row`.
  [[nodiscard]] SequenceRows rows(int64_t first, int64_t count, int64_t first_row) const {
    return {.first_row = first_row, .n_rows = count, .first_position = first, .pages = table};
  }

  int64_t n;
  Matrix q;
  Matrix k;
  Matrix v;
  std::vector<int32_t> table;
};

// Writes K and V of all positions to the pages, without rotation.
inline void store_all(Rig& rig, const Shape& shape, const Pages& pages, const Sequence& sequence) {
  const SequenceRows rows = sequence.rows(0, sequence.n, 0);
  RotateAndStore job;
  job.q = sequence.q.rows();
  job.k = sequence.k.rows();
  job.v = sequence.v.rows();
  job.n_heads = shape.n_heads;
  job.n_kv_heads = shape.n_kv_heads;
  job.head_dim = shape.head_dim;
  job.value_dim = shape.value_dim();
  job.pages = pages.view();
  job.sequences = {&rows, 1};
  rig.backend.rotate_and_store(job, 0);
}

}  // namespace fathom::ops
