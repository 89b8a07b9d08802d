// Counts and the printed form of tensor shapes.
#include "base/tensor.h"

#include <fmt/format.h>

namespace fathom {

int64_t FileTensor::n_elements() const {
  int64_t count = 1;
  for (const int64_t dim : shape) {
    count *= dim;
  }
  return count;
}

int64_t FileTensor::n_rows() const {
  int64_t count = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) {
    count *= shape[i];
  }
  return count;
}

std::string format_shape(std::span<const int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace fathom
