// Counts rows and drops pages; what counts wrongly (rows read twice) costs a page fault, no more.
// Called by the RowReaders of weights/quantized_*, weights/fp8_rows.
#include "weights/quantized_pages.h"

#include <algorithm>

namespace fathom::weights {

namespace {

constexpr int64_t kChunkBytes = int64_t{8} << 20;
constexpr size_t kPage = 4096;  // reach back by this much: a page that two chunks share goes too

int64_t rows_of_chunk(int64_t n_rows, size_t total_bytes, bool by_rows) {
  if (!by_rows) {
    return n_rows;
  }
  const int64_t row_bytes = static_cast<int64_t>(total_bytes) / n_rows + 1;
  return std::clamp<int64_t>(kChunkBytes / row_bytes, 1, n_rows);
}

size_t bytes_of(const std::vector<SourceTensor>& sources) {
  size_t total = 0;
  for (const SourceTensor& source : sources) {
    total += source.tensor.bytes.size();
  }
  return total;
}

}  // namespace

PageCounter::PageCounter(int64_t n_rows, const std::vector<SourceTensor>* sources, bool by_rows)
    : n_rows_(n_rows),
      sources_(sources),
      total_bytes_(bytes_of(*sources)),
      rows_per_chunk_(rows_of_chunk(n_rows, total_bytes_, by_rows)),
      counts_(static_cast<size_t>((n_rows + rows_per_chunk_ - 1) / rows_per_chunk_)) {}

void PageCounter::note_rows(int64_t first, int64_t n) const {
  while (n > 0) {
    const int64_t chunk = first / rows_per_chunk_;
    const int64_t end = std::min((chunk + 1) * rows_per_chunk_, n_rows_);
    const int64_t here = std::min(n, end - first);
    std::atomic<int64_t>& count = counts_[static_cast<size_t>(chunk)];
    if (count.fetch_add(here) + here >= end - chunk * rows_per_chunk_) {
      count.store(0);
      release_chunk(chunk);
    }
    first += here;
    n -= here;
  }
}

void PageCounter::release_chunk(int64_t chunk) const {
  const int64_t first = chunk * rows_per_chunk_;
  const int64_t last = std::min(first + rows_per_chunk_, n_rows_);
  for (const SourceTensor& source : *sources_) {
    if (source.file == nullptr) {
      continue;
    }
    const std::span<const std::byte> bytes = source.tensor.bytes;
    const double per_row = static_cast<double>(bytes.size()) / static_cast<double>(n_rows_);
    auto begin = static_cast<size_t>(static_cast<double>(first) * per_row);
    const size_t end =
        last == n_rows_ ? bytes.size() : static_cast<size_t>(static_cast<double>(last) * per_row);
    begin -= std::min(begin, kPage);
    source.file->release(bytes.subspan(begin, std::max(begin, end) - begin));
  }
}

}  // namespace fathom::weights
