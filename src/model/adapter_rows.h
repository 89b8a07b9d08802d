// Rows of adapters as packing reads them: padded to the largest rank, or added to a weight.
// Called by model/lora. Read next: model/lora.cc. Thread rule: const, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/tensor.h"
#include "model/lora.h"

namespace fathom::model {

// A matrix as F32 rows of `n_cols`, with zero rows and columns behind its own.
class PaddedRows final : public RowReader {
 public:
  // `paired_rows` > 0: the rows are heads of that many, stored as halves and wanted as pairs: row
  // 2 i + j of a head is row j * paired_rows / 2 + i of the tensor's.
  PaddedRows(const FileTensor& tensor, int64_t n_cols, int64_t paired_rows)
      : tensor_(&tensor), n_cols_(n_cols), paired_rows_(paired_rows) {}

  void read_rows(int64_t first, int64_t n_rows, std::byte* out) const override;

  [[nodiscard]] size_t file_bytes() const override;

 private:
  const FileTensor* tensor_;
  int64_t n_cols_;
  int64_t paired_rows_;
};

// Rows of W + sum of scale * b a as F32; the sum over the rank is taken first.
class MergedRows final : public RowReader {
 public:
  MergedRows(MatrixView weight, std::vector<LoraTerm> terms)
      : weight_(weight), terms_(std::move(terms)) {}

  void read_rows(int64_t first, int64_t n_rows, std::byte* out) const override;

  [[nodiscard]] size_t file_bytes() const override;

 private:
  MatrixView weight_;
  std::vector<LoraTerm> terms_;
};

}  // namespace fathom::model
