// Gives file pages back once all rows that come from them have been read.
// Called by the RowReaders of weights/quantized_*, weights/fp8_rows. Read next:
// weights/quantized_rows.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/mapped_file.h"
#include "base/tensor.h"

namespace fathom::weights {

// A tensor of a file, taken out of the TensorStore to become part of a computed one.
struct SourceTensor {
  FileTensor tensor;
  const MappedFile* file = nullptr;  // the mapping behind its bytes; null: memory of the caller
};

// Rows are counted in chunks; the pages behind a chunk are dropped when as many rows have been read
// as it has. Where the words of a row are spread over the whole tensor, the chunk is the tensor.
// Thread rule: note_rows() from any thread.
class PageCounter {
 public:
  // `by_rows`: row i of n_rows lies at i / n_rows of the bytes of each source, which must outlive
  // the counter.
  PageCounter(int64_t n_rows, const std::vector<SourceTensor>* sources, bool by_rows);

  // Rows [first, first + n) have been read.
  void note_rows(int64_t first, int64_t n) const;

  [[nodiscard]] int64_t rows_per_chunk() const { return rows_per_chunk_; }

  // Bytes of all sources.
  [[nodiscard]] size_t total_bytes() const { return total_bytes_; }

 private:
  void release_chunk(int64_t chunk) const;

  int64_t n_rows_;
  const std::vector<SourceTensor>* sources_;
  size_t total_bytes_ = 0;
  int64_t rows_per_chunk_;
  mutable std::vector<std::atomic<int64_t>> counts_;  // rows read of each chunk
};

}  // namespace fathom::weights
