// A tensor as a file stores it: name, type, shape, bytes. It owns nothing.
// Called by weights (fills it), model/load (packs from it). Read next: weights/tensor_store.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace fathom {

// Rows that are computed while they are read: words of GPTQ unpacked, FP8 times its block scales,
// weights with an adapter added. Thread rule: const, any thread.
class RowReader {
 public:
  virtual ~RowReader() = default;

  // Writes rows [first, first + n_rows) as the tensor's type stores them, one behind the other.
  virtual void read_rows(int64_t first, int64_t n_rows, std::byte* out) const = 0;

  // File bytes that the rows come from; for progress and for giving pages back.
  [[nodiscard]] virtual size_t file_bytes() const = 0;
};

struct FileTensor {
  std::string name;
  DType type = DType::kF32;
  std::vector<int64_t> shape;        // [outer, ..., inner], row-major; GGUF's order reversed
  std::span<const std::byte> bytes;  // valid while the mapped file lives; empty with a reader
  std::shared_ptr<const RowReader> reader;  // null: the rows lie in `bytes`
  // Act-order checkpoints: column c of the rows belongs to input column_order[c]; null: in order.
  std::shared_ptr<const std::vector<int32_t>> column_order;

  [[nodiscard]] int64_t n_elements() const;

  // Rows of the matrix view: all dimensions but the last; 1 for a vector.
  [[nodiscard]] int64_t n_rows() const;

  // Length of a row: the last dimension.
  [[nodiscard]] int64_t n_cols() const { return shape.empty() ? 1 : shape.back(); }
};

// "[32, 576]"
std::string format_shape(std::span<const int64_t> shape);

}  // namespace fathom
