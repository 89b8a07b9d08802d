// Reading views: file rows as they are, rows computed by a RowReader, and rows put together from
// elements.
#include "model/matrix_view.h"

#include <algorithm>
#include <cstring>

#include "quant/formats.h"
#include "quant/pack.h"

namespace fathom::model {

namespace {

using quant::kGroupRows;

// File columns that are dequantized together for a transposed view: whole blocks of every type.
constexpr int64_t kCachedColumns = 256;

// One file row [tensor columns] as floats; `bytes` is scratch for a RowReader.
void read_file_row(const FileTensor& tensor, int64_t row, std::vector<std::byte>& bytes,
                   float* out) {
  const int64_t row_bytes = quant::row_bytes(tensor.type, tensor.n_cols());
  const std::byte* start = nullptr;
  if (tensor.reader != nullptr) {
    bytes.resize(static_cast<size_t>(row_bytes));
    tensor.reader->read_rows(row, 1, bytes.data());
    start = bytes.data();
  } else {
    start = tensor.bytes.data() + row * row_bytes;
  }
  quant::dequantize_row(tensor.type, start, tensor.n_cols(), out);
}

}  // namespace

DType MatrixView::row_type() const {
  return has_file_rows() ? tensor->type : DType::kF32;
}

DType MatrixView::packed_type(bool as_f32) const {
  if (has_file_rows() || as_f32 || tensor->type == DType::kF32) {
    return quant::packed_type_of(tensor->type, as_f32);
  }
  return DType::kBF16;
}

ViewReader::RowStarts ViewReader::read_rows(const MatrixView& view, int64_t first_row,
                                            int64_t n_rows) {
  if (view.has_file_rows()) {
    return read_plain(view, first_row, n_rows);
  }
  values_.resize(static_cast<size_t>(kGroupRows * view.n_cols));
  if (view.transposed) {
    read_transposed(view, first_row, n_rows);
  } else {
    read_reordered(view, first_row, n_rows);
  }
  RowStarts starts = {};
  for (int64_t i = 0; i < n_rows; ++i) {
    starts.at(static_cast<size_t>(i)) =
        reinterpret_cast<const std::byte*>(values_.data() + i * view.n_cols);
  }
  return starts;
}

ViewReader::RowStarts ViewReader::read_plain(const MatrixView& view, int64_t first_row,
                                             int64_t n_rows) {
  const FileTensor& tensor = *view.tensor;
  const int64_t row_bytes = quant::row_bytes(tensor.type, view.n_cols);
  RowStarts starts = {};
  if (tensor.reader == nullptr) {
    for (int64_t i = 0; i < n_rows; ++i) {
      starts.at(static_cast<size_t>(i)) =
          tensor.bytes.data() + view.file_row(first_row + i) * row_bytes;
    }
    return starts;
  }
  bytes_.resize(static_cast<size_t>(kGroupRows * row_bytes));
  for (int64_t i = 0; i < n_rows;) {  // neighbouring file rows in one call
    int64_t n = 1;
    while (i + n < n_rows && view.file_row(first_row + i + n) == view.file_row(first_row + i) + n) {
      ++n;
    }
    tensor.reader->read_rows(view.file_row(first_row + i), n, bytes_.data() + i * row_bytes);
    i += n;
  }
  for (int64_t i = 0; i < n_rows; ++i) {
    starts.at(static_cast<size_t>(i)) = bytes_.data() + i * row_bytes;
  }
  return starts;
}

// Columns [cached_first_, + n_cached_) of file rows origin .. origin + n_cols, turned into rows.
void ViewReader::fill_columns(const MatrixView& view, int64_t first_column) {
  const FileTensor& tensor = *view.tensor;
  cached_tensor_ = &tensor;
  cached_origin_ = view.origin;
  cached_first_ = first_column / kCachedColumns * kCachedColumns;
  n_cached_ = std::min(kCachedColumns, tensor.n_cols() - cached_first_);
  cache_.resize(static_cast<size_t>(kCachedColumns * view.n_cols));
  row_.resize(static_cast<size_t>(tensor.n_cols()));
  const quant::Format& format = quant::format_of(tensor.type);
  const bool in_place = tensor.reader == nullptr && cached_first_ % format.values_per_block == 0 &&
                        n_cached_ % format.values_per_block == 0;
  const int64_t row_bytes = quant::row_bytes(tensor.type, tensor.n_cols());
  for (int64_t c = 0; c < view.n_cols; ++c) {
    const float* values = row_.data();
    if (in_place) {
      const std::byte* start = tensor.bytes.data() + (view.origin + c) * row_bytes +
                               quant::row_bytes(tensor.type, cached_first_);
      quant::dequantize_row(tensor.type, start, n_cached_, row_.data());
    } else {
      read_file_row(tensor, view.origin + c, bytes_, row_.data());
      values += cached_first_;
    }
    for (int64_t r = 0; r < n_cached_; ++r) {
      cache_[static_cast<size_t>(r * view.n_cols + c)] = values[r];
    }
  }
}

void ViewReader::read_transposed(const MatrixView& view, int64_t first_row, int64_t n_rows) {
  for (int64_t i = 0; i < n_rows; ++i) {
    const int64_t column = view.file_row(first_row + i);
    const bool cached = cached_tensor_ == view.tensor && cached_origin_ == view.origin &&
                        column >= cached_first_ && column < cached_first_ + n_cached_;
    if (!cached) {
      fill_columns(view, column);
    }
    std::copy_n(cache_.data() + (column - cached_first_) * view.n_cols, view.n_cols,
                values_.data() + i * view.n_cols);
  }
}

void ViewReader::read_reordered(const MatrixView& view, int64_t first_row, int64_t n_rows) {
  const std::vector<int32_t>& order = *view.tensor->column_order;
  row_.resize(static_cast<size_t>(view.n_cols));
  for (int64_t i = 0; i < n_rows; ++i) {
    read_file_row(*view.tensor, view.file_row(first_row + i), bytes_, row_.data());
    float* out = values_.data() + i * view.n_cols;
    for (size_t c = 0; c < order.size(); ++c) {
      out[order[c]] = row_[c];
    }
  }
}

std::vector<float> read_floats(const MatrixView& view) {
  std::vector<float> values(static_cast<size_t>(view.n_elements()));
  ViewReader reader;
  for (int64_t row = 0; row < view.n_rows; row += kGroupRows) {
    const int64_t n = std::min<int64_t>(kGroupRows, view.n_rows - row);
    const ViewReader::RowStarts starts = reader.read_rows(view, row, n);
    for (int64_t i = 0; i < n; ++i) {
      quant::dequantize_row(view.row_type(), starts.at(static_cast<size_t>(i)), view.n_cols,
                            values.data() + (row + i) * view.n_cols);
    }
  }
  return values;
}

}  // namespace fathom::model
