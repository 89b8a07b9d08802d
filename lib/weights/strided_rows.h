// The rows of a tensor whose elements do not lie in order: transposed, sliced or expanded views.
// Called by weights/pytorch. Read next: base/tensor.h. Thread rule: const, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/tensor.h"

namespace fathom::weights {

// Where the elements of a view lie: element (i, j, ...) at offset + i * strides[0] + j * strides[1]
// ..., counted in elements. Every such place lies inside the storage (the caller has checked it).
struct StridedView {
  std::span<const std::byte> storage;  // must outlive the reader
  int64_t element_bytes = 1;
  int64_t offset = 0;
  std::vector<int64_t> shape;  // [outer, ..., inner]
  std::vector<int64_t> strides;
};

// True when the elements stand one behind the other, the last dimension fastest.
bool is_contiguous(std::span<const int64_t> shape, std::span<const int64_t> strides);

class StridedRows final : public RowReader {
 public:
  explicit StridedRows(StridedView view) : view_(std::move(view)) {}

  void read_rows(int64_t first, int64_t n_rows, std::byte* out) const override;

  // From the first to the last element of the view.
  [[nodiscard]] size_t file_bytes() const override;

 private:
  // The element that row `row` starts with.
  [[nodiscard]] int64_t start_of(int64_t row) const;

  StridedView view_;
};

}  // namespace fathom::weights
