// Plain loops: an adapter is small beside its model.
// Called by model/lora. Read next: model/matrix_view.cc.
#include "model/adapter_rows.h"

#include <algorithm>
#include <span>

#include "quant/formats.h"
#include "quant/pack.h"

namespace fathom::model {

namespace {

using quant::kGroupRows;

// Rows of a view, at most 16, as floats one behind the other.
void read_as_floats(ViewReader& reader, const MatrixView& view, int64_t first, int64_t n_rows,
                    float* out) {
  const ViewReader::RowStarts starts = reader.read_rows(view, first, n_rows);
  for (int64_t i = 0; i < n_rows; ++i) {
    quant::dequantize_row(view.row_type(), starts.at(static_cast<size_t>(i)), view.n_cols,
                          out + i * view.n_cols);
  }
}

// out [n_rows, n_in] += scale * (rows of b) a.
void add_term(const LoraTerm& term, int64_t first, int64_t n_rows, float* out) {
  const int64_t rank = term.a.n_rows;
  const int64_t n_in = term.a.n_cols;
  ViewReader reader;
  std::vector<float> b(static_cast<size_t>(n_rows * rank));
  read_as_floats(reader, term.b, first, n_rows, b.data());
  std::vector<float> sums(static_cast<size_t>(n_rows * n_in), 0.0F);
  std::vector<float> a(static_cast<size_t>(kGroupRows * n_in));
  for (int64_t k = 0; k < rank; ++k) {
    if (k % kGroupRows == 0) {
      read_as_floats(reader, term.a, k, std::min<int64_t>(kGroupRows, rank - k), a.data());
    }
    const float* a_row = a.data() + k % kGroupRows * n_in;
    for (int64_t i = 0; i < n_rows; ++i) {
      const float factor = b[static_cast<size_t>(i * rank + k)];
      float* sum = sums.data() + i * n_in;
      for (int64_t c = 0; c < n_in; ++c) {
        sum[c] += factor * a_row[c];
      }
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    out[i] += term.scale * sums[i];
  }
}

}  // namespace

void PaddedRows::read_rows(int64_t first, int64_t n_rows, std::byte* out) const {
  auto* values = reinterpret_cast<float*>(out);
  std::fill_n(values, n_rows * n_cols_, 0.0F);
  ViewReader reader;
  const MatrixView view = {tensor_, tensor_->n_rows(), tensor_->n_cols()};
  for (int64_t row = first; row < std::min(first + n_rows, view.n_rows); ++row) {
    int64_t from = row;
    if (paired_rows_ > 0) {
      const int64_t in_head = row % paired_rows_;
      from = row - in_head + in_head % 2 * (paired_rows_ / 2) + in_head / 2;
    }
    read_as_floats(reader, view, from, 1, values + (row - first) * n_cols_);
  }
}

size_t PaddedRows::file_bytes() const {
  return tensor_->reader != nullptr ? tensor_->reader->file_bytes() : tensor_->bytes.size();
}

void MergedRows::read_rows(int64_t first, int64_t n_rows, std::byte* out) const {
  auto* values = reinterpret_cast<float*>(out);
  ViewReader reader;
  for (int64_t done = 0; done < n_rows; done += kGroupRows) {
    const int64_t n = std::min<int64_t>(kGroupRows, n_rows - done);
    float* rows = values + done * weight_.n_cols;
    read_as_floats(reader, weight_, first + done, n, rows);
    for (const LoraTerm& term : terms_) {
      add_term(term, first + done, n, rows);
    }
  }
}

size_t MergedRows::file_bytes() const {
  return static_cast<size_t>(weight_.n_rows *
                             quant::row_bytes(weight_.tensor->type, weight_.n_cols));
}

}  // namespace fathom::model
