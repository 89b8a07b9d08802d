// A matrix as the model wants it, seen in a tensor as a file has it: parts of fused matrices, heads
// that alternate, experts of a stack, transposed storage. Reading happens while packing; nothing is
// copied before.
// Called by model/bind (makes views), model/packer (reads them). Read next: model/bind.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "base/tensor.h"
#include "quant/packed.h"

namespace fathom::model {

// Row r of the matrix is file row first + r / run * step + r % run. Transposed: it is that file
// COLUMN, and column c of the matrix is file row origin + c.
struct MatrixView {
  const FileTensor* tensor = nullptr;  // null: not there
  int64_t n_rows = 0;
  int64_t n_cols = 0;
  int64_t first = 0;
  int64_t run = 1;
  int64_t step = 1;
  bool transposed = false;
  int64_t origin = 0;

  [[nodiscard]] bool is_bound() const { return tensor != nullptr; }

  [[nodiscard]] int64_t file_row(int64_t row) const { return first + row / run * step + row % run; }

  [[nodiscard]] int64_t n_elements() const { return n_rows * n_cols; }

  // True where whole file rows are the matrix's rows, to be packed as they are.
  [[nodiscard]] bool has_file_rows() const {
    return !transposed && tensor->column_order == nullptr;
  }

  // The type of the rows that read_rows delivers: the file's, or F32 where they have to be put
  // together from elements of a block type; F16 and BF16 stay.
  [[nodiscard]] DType row_type() const;

  // What the matrix is packed as, quant::packed_type_of for has_file_rows(); BF16 for block types
  // that are transposed or in another column order.
  [[nodiscard]] DType packed_type(bool as_f32) const;
};

// Rows of a view for packing. Each thread has its own reader.
class ViewReader {
 public:
  // Starts of rows [first_row, first_row + n_rows) in the type view.row_type(); valid until the
  // next call. n_rows at most 16.
  using RowStarts = std::array<const std::byte*, quant::kGroupRows>;
  RowStarts read_rows(const MatrixView& view, int64_t first_row, int64_t n_rows);

 private:
  RowStarts read_plain(const MatrixView& view, int64_t first_row, int64_t n_rows);
  void read_transposed(const MatrixView& view, int64_t first_row, int64_t n_rows);
  void fill_columns(const MatrixView& view, int64_t first_row);
  void read_reordered(const MatrixView& view, int64_t first_row, int64_t n_rows);

  std::vector<std::byte> bytes_;  // rows of a RowReader
  std::vector<float> values_;     // rows put together from elements
  std::vector<float> row_;
  // Transposed: some file columns of the view, dequantized, as rows: [n_cached][n_cols].
  std::vector<float> cache_;
  const FileTensor* cached_tensor_ = nullptr;
  int64_t cached_origin_ = 0;
  int64_t cached_first_ = 0;  // file column
  int64_t n_cached_ = 0;
};

// All values of a view, row by row: vectors, biases, norms.
std::vector<float> read_floats(const MatrixView& view);

}  // namespace fathom::model
