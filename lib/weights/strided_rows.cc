// Gathers elements one by one into rows.
// Called by weights/pytorch. Read next: weights/pytorch.cc.
#include "weights/strided_rows.h"

#include <cstring>

namespace fathom::weights {

bool is_contiguous(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  int64_t expected = 1;
  for (size_t i = shape.size(); i > 0; --i) {
    if (shape[i - 1] != 1 && strides[i - 1] != expected) {
      return false;
    }
    // Past the last long dimension nothing is compared, so a product that wraps does no harm.
    expected =
        static_cast<int64_t>(static_cast<uint64_t>(expected) * static_cast<uint64_t>(shape[i - 1]));
  }
  return true;
}

void StridedRows::read_rows(int64_t first, int64_t n_rows, std::byte* out) const {
  const int64_t n_cols = view_.shape.empty() ? 1 : view_.shape.back();
  const int64_t step = view_.shape.empty() ? 0 : view_.strides.back() * view_.element_bytes;
  const auto size = static_cast<size_t>(view_.element_bytes);
  for (int64_t row = first; row < first + n_rows; ++row) {
    const std::byte* from = view_.storage.data() + start_of(row) * view_.element_bytes;
    for (int64_t col = 0; col < n_cols; ++col) {
      std::memcpy(out, from + col * step, size);
      out += size;
    }
  }
}

size_t StridedRows::file_bytes() const {
  int64_t reach = 1;
  for (size_t i = 0; i < view_.shape.size(); ++i) {
    reach += (view_.shape[i] - 1) * view_.strides[i];
  }
  return static_cast<size_t>(reach * view_.element_bytes);
}

int64_t StridedRows::start_of(int64_t row) const {
  int64_t start = view_.offset;
  for (size_t i = view_.shape.size(); i > 1; --i) {
    const int64_t size = view_.shape[i - 2];
    start += row % size * view_.strides[i - 2];
    row /= size;
  }
  return start;
}

}  // namespace fathom::weights
