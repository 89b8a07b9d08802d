// mmap of a regular file, with the errors a user can act on.
#include "base/mapped_file.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/regular_file.h"

namespace fathom {

MappedFile::MappedFile(std::string path) : path_(std::move(path)) {
  const RegularFile file(path_);
  if (file.size() == 0) {
    fail(ErrorCode::kCorruptFile,
         fmt::format("{}: the file is empty; was the download finished?", path_));
  }
  const auto size = static_cast<size_t>(file.size());
  void* base = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd(), 0);
  if (base == MAP_FAILED) {
    fail(ErrorCode::kOutOfMemory,
         fmt::format("{}: cannot map {} bytes: {}", path_, size, std::strerror(errno)));
  }
  bytes_ = {static_cast<const std::byte*>(base), size};
}

MappedFile::~MappedFile() {
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

// A fault maps the whole folio of the page cache, up to 2 MB of it, also what was given back
// before: so all folios that the range touches go. What is still to be read there comes back by one
// fault.
void MappedFile::release(std::span<const std::byte> range) const {
  constexpr size_t kLargestFolio = size_t{2} << 20;
  const auto offset = static_cast<size_t>(range.data() - bytes_.data());
  const size_t begin = offset / kLargestFolio * kLargestFolio;
  const size_t end = std::min(
      bytes_.size(), (offset + range.size() + kLargestFolio - 1) / kLargestFolio * kLargestFolio);
  if (begin < end) {
    ::madvise(const_cast<std::byte*>(bytes_.data()) + begin, end - begin, MADV_DONTNEED);
  }
}

}  // namespace fathom
