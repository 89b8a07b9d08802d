// A tensor as a file stores it: name, type, shape, bytes. It owns nothing.
// Called by weights (fills it), model/load (packs from it). Read next: weights/tensor_store.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace fathom {

struct FileTensor {
  std::string name;
  DType type = DType::kF32;
  std::vector<int64_t> shape;        // [outer, ..., inner], row-major; GGUF's order reversed
  std::span<const std::byte> bytes;  // valid while the mapped file lives

  [[nodiscard]] int64_t n_elements() const;

  // Rows of the matrix view: all dimensions but the last; 1 for a vector.
  [[nodiscard]] int64_t n_rows() const;

  // Length of a row: the last dimension.
  [[nodiscard]] int64_t n_cols() const { return shape.empty() ? 1 : shape.back(); }
};

// "[32, 576]"
std::string format_shape(std::span<const int64_t> shape);

}  // namespace fathom
