// Chunks are read and checked on all threads, straight into the region.
#include "model/packed_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/output_file.h"

namespace fathom::model {

namespace {

namespace fs = std::filesystem;

constexpr std::array<char, 8> kMagic = {'F', 'A', 'T', 'H', 'P', 'A', 'C', 'K'};
constexpr size_t kChunkBytes = size_t{4} << 20;

struct Header {
  std::array<char, 8> magic = kMagic;
  uint32_t version = kPackedCacheVersion;
  uint32_t byte_order = 0x01020304;
  std::array<uint64_t, 2> key = {};
  uint64_t n_bytes = 0;   // of the region
  uint64_t n_chunks = 0;  // of kChunkBytes, the last one shorter
  uint64_t checksum = 0;  // XXH3 of the header with this as 0, and of the table behind it
  uint64_t reserved = 0;
};

static_assert(sizeof(Header) == 64);

size_t count_chunks(size_t n_bytes) {
  return (n_bytes + kChunkBytes - 1) / kChunkBytes;
}

template <class Bytes>
Bytes chunk_of(Bytes region, size_t chunk) {
  const size_t begin = chunk * kChunkBytes;
  return region.subspan(begin, std::min(kChunkBytes, region.size() - begin));
}

uint64_t head_checksum(Header header, std::span<const uint64_t> table) {
  header.checksum = 0;
  const uint64_t of_header = XXH3_64bits(&header, sizeof(header));
  return XXH3_64bits_withSeed(table.data(), table.size_bytes(), of_header);
}

// What the jobs do with the source, as text.
std::string describe_jobs(const JobList& jobs) {
  std::string text = fmt::format("bytes {}\n", jobs.bytes);
  const auto add_view = [&](const MatrixView& view) {
    fmt::format_to(std::back_inserter(text), " {} {} {}x{} {} {} {} {} {}", view.tensor->name,
                   static_cast<int>(view.tensor->type), view.n_rows, view.n_cols, view.first,
                   view.run, view.step, view.transposed, view.origin);
  };
  for (const MatrixJob& job : jobs.matrices) {
    fmt::format_to(std::back_inserter(text), "matrix {} {} {}", job.offset,
                   static_cast<int>(job.packed), job.group_stride_bytes);
    add_view(job.file_view());
    text += '\n';
  }
  for (const VectorJob& job : jobs.vectors) {
    fmt::format_to(std::back_inserter(text), "vector {} {} {}", job.offset, job.n_values, job.add);
    std::ranges::for_each(job.views, add_view);
    text += '\n';
  }
  return text;
}

// Reads all of `bytes` at `offset`; false at the end of the file or on an error.
bool read_at(int fd, std::span<std::byte> bytes, size_t offset) {
  while (!bytes.empty()) {
    const ssize_t n = ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n <= 0) {
      return false;
    }
    bytes = bytes.subspan(static_cast<size_t>(n));
    offset += static_cast<size_t>(n);
  }
  return true;
}

class File {
 public:
  explicit File(const std::string& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}

  ~File() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }

  File(const File&) = delete;
  File& operator=(const File&) = delete;

  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

PackedCache::PackedCache(const PackedCachePlace& place, const JobList& jobs) {
  const std::string text =
      fmt::format("packed {}\n{}\n{}", kPackedCacheVersion, place.source, describe_jobs(jobs));
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  key_ = {hash.high64, hash.low64};
  path_ =
      (fs::path(place.folder) / fmt::format("{:016x}{:016x}.packed", key_[0], key_[1])).string();
}

// What is wrong with the file; empty when the region is filled.
std::string PackedCache::fill(std::span<std::byte> region, ThreadPool& threads,
                              const LoadProgress& progress) const {
  const File file(path_);
  if (file.fd() < 0) {
    return std::strerror(errno);
  }
  Header header;
  if (!read_at(file.fd(), std::as_writable_bytes(std::span(&header, 1)), 0)) {
    return "the file is shorter than its header";
  }
  const Header wanted = {
      .key = key_, .n_bytes = region.size(), .n_chunks = count_chunks(region.size())};
  if (header.magic != wanted.magic || header.version != wanted.version ||
      header.byte_order != wanted.byte_order || header.key != wanted.key ||
      header.n_bytes != wanted.n_bytes || header.n_chunks != wanted.n_chunks) {
    return "the header is not that of these weights";
  }
  std::vector<uint64_t> table(header.n_chunks);
  if (!read_at(file.fd(), std::as_writable_bytes(std::span(table)), sizeof(header)) ||
      head_checksum(header, table) != header.checksum) {
    return "the checksum of the header is wrong";
  }
  const size_t begin = sizeof(header) + std::span(table).size_bytes();
  std::atomic<size_t> first_bad = table.size();
  std::atomic<int64_t> done = 0;
  threads.run(static_cast<int64_t>(table.size()), [&](int64_t unit, int worker) {
    const auto i = static_cast<size_t>(unit);
    const std::span<std::byte> chunk = chunk_of(region, i);
    if (!read_at(file.fd(), chunk, begin + i * kChunkBytes) ||
        XXH3_64bits(chunk.data(), chunk.size()) != table[i]) {
      size_t known = first_bad;
      while (i < known && !first_bad.compare_exchange_weak(known, i)) {
      }
    }
    done += static_cast<int64_t>(chunk.size());
    if (worker == 0 && progress) {
      progress(done, static_cast<int64_t>(region.size()));
    }
  });
  return first_bad == table.size() ? std::string()
                                   : fmt::format("the checksum of the bytes from {} on is wrong",
                                                 begin + first_bad * kChunkBytes);
}

bool PackedCache::read(std::span<std::byte> region, ThreadPool& threads,
                       const LoadProgress& progress) const {
  std::error_code ignored;
  if (!fs::exists(path_, ignored)) {
    return false;
  }
  const std::string reason = fill(region, threads, progress);
  if (!reason.empty()) {
    warn(fmt::format("{}: not used: {}; the model is packed anew", path_, reason));
    std::ranges::fill(region, std::byte{0});  // packing leaves gaps as they are
  }
  return reason.empty();
}

void PackedCache::write(std::span<const std::byte> region, ThreadPool& threads) const {
  Header header = {.key = key_, .n_bytes = region.size(), .n_chunks = count_chunks(region.size())};
  std::vector<uint64_t> table(header.n_chunks);
  threads.run(static_cast<int64_t>(table.size()), [&](int64_t unit, int) {
    const auto chunk = chunk_of(region, static_cast<size_t>(unit));
    table[static_cast<size_t>(unit)] = XXH3_64bits(chunk.data(), chunk.size());
  });
  header.checksum = head_checksum(header, table);
  try {
    fs::create_directories(fs::path(path_).parent_path());
    OutputFile file(path_);
    file.write(std::as_bytes(std::span(&header, 1)));
    file.write(std::as_bytes(std::span(table)));
    file.write(region);
    file.commit();
    note(fmt::format("packed weights are kept in {} ({} MB)", path_, region.size() / 1000000));
  } catch (const std::exception& error) {
    warn(fmt::format("packed weights are not kept: {}", error.what()));
  }
}

std::string describe_files(const std::string& path) {
  std::vector<std::string> lines;
  const auto add = [&](const fs::path& file) {
    struct stat status {};
    if (::stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
      lines.push_back(fmt::format("{} {} {}.{:09}\n", file.filename().string(), status.st_size,
                                  status.st_mtim.tv_sec, status.st_mtim.tv_nsec));
    }
  };
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    for (const fs::directory_entry& entry : fs::directory_iterator(path, ignored)) {
      add(entry.path());
    }
  } else {
    add(path);
  }
  std::ranges::sort(lines);
  return fmt::format("{}", fmt::join(lines, ""));
}

}  // namespace fathom::model
