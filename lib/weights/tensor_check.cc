// Sizes and overlaps, computed without overflow.
#include "weights/tensor_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/tensor.h"
#include "quant/formats.h"
#include "weights/byte_reader.h"

namespace fathom::weights {

TensorSize size_of_tensor(DType type, std::span<const int64_t> shape) {
  const quant::Format& format = quant::format_of(type);
  const int64_t n_cols = shape.empty() ? 1 : shape.back();
  if (n_cols % format.values_per_block != 0) {
    return {
        std::nullopt, fmt::format("rows of {} values", n_cols),
        fmt::format("a multiple of {}, the block of {}", format.values_per_block, name_of(type))};
  }
  uint64_t n_bytes = 0;
  bool fits = multiply_fits(static_cast<uint64_t>(n_cols / format.values_per_block),
                            static_cast<uint64_t>(format.bytes_per_block), n_bytes);
  for (size_t i = 0; i + 1 < shape.size() && fits; ++i) {
    fits = multiply_fits(n_bytes, static_cast<uint64_t>(shape[i]), n_bytes);
  }
  if (!fits || n_bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return {std::nullopt, fmt::format("shape {}", format_shape(shape)), "a size below 2^63 bytes"};
  }
  return {static_cast<int64_t>(n_bytes), {}, {}};
}

std::optional<size_t> find_overlap(std::vector<TensorRange>& ranges) {
  std::ranges::sort(ranges, [](const TensorRange& a, const TensorRange& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].begin < ranges[i - 1].end) {
      return i;
    }
  }
  return std::nullopt;
}

}  // namespace fathom::weights
