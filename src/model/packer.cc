// Packing in parallel: who packs what decides nothing about the result.
#include "model/packer.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/error.h"
#include "quant/formats.h"
#include "quant/pack.h"

namespace fathom::model {

namespace {

using quant::kGroupRows;

// A piece of one matrix: some groups of 16 rows.
struct Unit {
  const MatrixJob* job = nullptr;
  int64_t first_group = 0;
  int64_t n_groups = 0;
};

constexpr int64_t kUnitFileBytes = int64_t{1} << 20;
constexpr int64_t kTransposedGroups = 16;  // their columns are dequantized 256 at a time

int64_t file_bytes_of_group(const MatrixJob& job) {
  return std::max<int64_t>(1,
                           kGroupRows * quant::row_bytes(job.view.tensor->type, job.view.n_cols));
}

std::vector<Unit> cut_into_units(const JobList& jobs) {
  std::vector<Unit> units;
  for (const MatrixJob& job : jobs.matrices) {
    const int64_t groups = (job.view.n_rows + kGroupRows - 1) / kGroupRows;
    const int64_t step = job.view.transposed
                             ? kTransposedGroups
                             : std::max<int64_t>(1, kUnitFileBytes / file_bytes_of_group(job));
    for (int64_t first = 0; first < groups; first += step) {
      units.push_back({&job, first, std::min(step, groups - first)});
    }
  }
  return units;
}

// Consecutive units that one thread packs: far enough apart from the next bundle that two threads
// seldom fault in the same huge page of the destination (both would zero it, one in vain).
constexpr int64_t kBundleFileBytes = int64_t{4} << 20;

std::vector<std::span<const Unit>> bundle(const std::vector<Unit>& units) {
  std::vector<std::span<const Unit>> bundles;
  size_t first = 0;
  int64_t bytes = 0;
  for (size_t i = 0; i < units.size(); ++i) {
    bytes += units[i].n_groups * file_bytes_of_group(*units[i].job);
    if (bytes >= kBundleFileBytes || i + 1 == units.size()) {
      bundles.push_back(std::span(units).subspan(first, i + 1 - first));
      first = i + 1;
      bytes = 0;
    }
  }
  return bundles;
}

// Asks for the rows of the next group: packing reads 16 rows side by side, which no hardware
// prefetcher follows.
void prefetch_rows(const MatrixView& view, int64_t first_row) {
  if (!view.has_file_rows() || view.tensor->reader != nullptr || first_row >= view.n_rows) {
    return;
  }
  const int64_t row_bytes = quant::row_bytes(view.tensor->type, view.n_cols);
  const int64_t last_row = std::min(first_row + kGroupRows, view.n_rows);
  for (int64_t row = first_row; row < last_row; ++row) {
    const std::byte* start = view.tensor->bytes.data() + view.file_row(row) * row_bytes;
    for (int64_t at = 0; at < row_bytes; at += 64) {
      __builtin_prefetch(start + at);
    }
  }
}

// Packs units; remembers the first bad value by file order.
class Packer {
 public:
  Packer(const weights::ModelFile& file, std::byte* region, int n_threads,
         const LoadProgress& progress, int64_t total_bytes)
      : file_(&file),
        region_(region),
        progress_(&progress),
        total_bytes_(total_bytes),
        readers_(static_cast<size_t>(n_threads)) {}

  void pack(const Unit& unit, int worker) {
    const MatrixView& view = unit.job->view;
    ViewReader& reader = readers_[static_cast<size_t>(worker)];
    quant::PackGroup group;
    group.file_type = view.row_type();
    group.packed_type = unit.job->packed;
    group.n_cols = view.n_cols;
    const int64_t end_group = unit.first_group + unit.n_groups;
    for (int64_t g = unit.first_group; g < end_group; ++g) {
      prefetch_rows(view, (g + 1) * kGroupRows);
      const int64_t row = g * kGroupRows;
      group.rows = reader.read_rows(view, row, std::min<int64_t>(kGroupRows, view.n_rows - row));
      group.out = region_ + unit.job->offset + g * unit.job->group_stride_bytes;
      const int bad = quant::pack_group(group);
      if (bad >= 0) {
        report(*unit.job, row + bad);
      }
    }
    release(unit.job->file_view(), unit.first_group * kGroupRows,
            std::min(view.n_rows, end_group * kGroupRows));
    const int64_t bytes = unit.n_groups * file_bytes_of_group(*unit.job);
    const int64_t done = std::min(total_bytes_, done_.fetch_add(bytes) + bytes);
    if (worker == 0 && *progress_) {
      (*progress_)(done, total_bytes_);
    }
  }

  void throw_if_bad() const {
    if (bad_tensor_ != nullptr && bad_is_merged_) {
      fail(ErrorCode::kCorruptFile,
           fmt::format("{}: tensor '{}' row {} holds a NaN or infinite value once the adapters are "
                       "added to it (--merge-lora): the file or an adapter is damaged, or a scale "
                       "is too large",
                       file_->metadata.path(), bad_tensor_->name, bad_row_));
    }
    if (bad_tensor_ != nullptr) {
      fail(ErrorCode::kCorruptFile,
           fmt::format("{}: tensor '{}' row {} holds a NaN or infinite scale or value; the file is "
                       "damaged or was quantized from a broken model",
                       file_->metadata.path(), bad_tensor_->name, bad_row_));
    }
  }

 private:
  // Gives back the file pages of rows [first, last) of the matrix.
  void release(const MatrixView& view, int64_t first, int64_t last) const {
    const FileTensor& tensor = *view.tensor;
    if (tensor.reader != nullptr) {
      return;
    }
    const int64_t row_bytes = quant::row_bytes(tensor.type, tensor.n_cols());
    int64_t first_row = view.origin;
    int64_t end_row = view.origin + view.n_cols;
    if (!view.transposed) {
      first_row = view.file_row(first);
      end_row = view.file_row(last - 1) + 1;
    }
    file_->tensors.release(
        tensor, tensor.bytes.subspan(static_cast<size_t>(first_row * row_bytes),
                                     static_cast<size_t>((end_row - first_row) * row_bytes)));
  }

  void report(const MatrixJob& job, int64_t row) {
    const MatrixView& view = job.view;
    const std::lock_guard lock(mutex_);
    const int64_t file_row = view.transposed ? row : view.file_row(row);
    const bool earlier = bad_tensor_ == nullptr || view.tensor->name < bad_tensor_->name ||
                         (view.tensor == bad_tensor_ && file_row < bad_row_);
    if (earlier) {
      bad_tensor_ = view.tensor;
      bad_row_ = file_row;
      bad_is_merged_ = job.source.is_bound();
    }
  }

  const weights::ModelFile* file_;
  std::byte* region_;
  const LoadProgress* progress_;
  int64_t total_bytes_;
  std::vector<ViewReader> readers_;  // one per thread
  std::atomic<int64_t> done_{0};
  std::mutex mutex_;
  const FileTensor* bad_tensor_ = nullptr;
  int64_t bad_row_ = 0;
  bool bad_is_merged_ = false;
};

}  // namespace

void pack_matrices(const weights::ModelFile& file, const JobList& jobs, std::byte* region,
                   ThreadPool& threads, const LoadProgress& progress) {
  const std::vector<Unit> units = cut_into_units(jobs);
  const std::vector<std::span<const Unit>> bundles = bundle(units);
  int64_t total = 0;
  for (const MatrixJob& job : jobs.matrices) {
    total += (job.view.n_rows + kGroupRows - 1) / kGroupRows * file_bytes_of_group(job);
  }
  Packer packer(file, region, threads.n_threads(), progress, total);
  threads.run(static_cast<int64_t>(bundles.size()), [&](int64_t index, int worker) {
    for (const Unit& unit : bundles[static_cast<size_t>(index)]) {
      packer.pack(unit, worker);
    }
  });
  file.tensors.release_all();  // what neighbours of released pages brought back
  packer.throw_if_bad();
}

}  // namespace fathom::model
