// Packed weights kept on disk between runs: a start then reads them as they are, with no packing.
//
//   file: [header, 64 bytes][checksum of each chunk][the weights region]
//   Everything is checked: version, key and size in the header, the header and its table of
//   checksums by one of their own, each chunk while it is read. What does not fit is packed anew.
//
// Called by model/load. Read next: model/jobs.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/threads.h"
#include "model/jobs.h"
#include "model/packer.h"

namespace fathom::model {

// Raised whenever the same file would be packed into other bytes; a test holds it to that.
inline constexpr uint32_t kPackedCacheVersion = 1;

// Where packed weights are kept, and what they were made from.
struct PackedCachePlace {
  std::string folder;  // made where it is missing; empty: nothing is kept
  std::string
      source;  // names, sizes and times of the model's and adapters' files, overrides, scales
};

class PackedCache {
 public:
  // The name of the cache file follows from `place.source`, the version and what the jobs do.
  PackedCache(const PackedCachePlace& place, const JobList& jobs);

  [[nodiscard]] const std::string& path() const { return path_; }

  // Fills `region` [jobs.bytes]. False, with a warning that says why unless there is no such file:
  // the region is to be packed, whatever it holds.
  bool read(std::span<std::byte> region, ThreadPool& threads, const LoadProgress& progress) const;

  // Writes the file. A folder or disk that cannot take it is a warning; nothing is left behind.
  void write(std::span<const std::byte> region, ThreadPool& threads) const;

 private:
  [[nodiscard]] std::string fill(std::span<std::byte> region, ThreadPool& threads,
                                 const LoadProgress& progress) const;

  std::string path_;
  std::array<uint64_t, 2> key_{};
};

// One line a file of `folder`, or of `path` if that is a file: name, size in bytes, time of the
// last change in ns. Files below folders of `folder` do not count.
std::string describe_files(const std::string& path);

}  // namespace fathom::model
