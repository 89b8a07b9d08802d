// mmap of a regular file, with the errors a user can act on.
#include "base/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace fathom {

namespace {

struct FileHandle {
  int fd;

  ~FileHandle() {
    if (fd >= 0) {
      ::close(fd);
    }
  }
};

}  // namespace

MappedFile::MappedFile(std::string path) : path_(std::move(path)) {
  // O_NONBLOCK: a FIFO must be refused, not waited for.
  const FileHandle file{::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) {
    const bool missing = errno == ENOENT || errno == ENOTDIR;
    fail(missing ? ErrorCode::kNotFound : ErrorCode::kInvalidArgument,
         fmt::format("{}: cannot open: {}; check the path and its permissions", path_,
                     std::strerror(errno)));
  }

  struct stat info {};

  if (::fstat(file.fd, &info) != 0) {
    fail(ErrorCode::kInvalidArgument,
         fmt::format("{}: cannot read its size: {}", path_, std::strerror(errno)));
  }
  if (!S_ISREG(info.st_mode)) {
    fail(ErrorCode::kInvalidArgument,
         fmt::format("{}: is a {}, expected a regular file", path_,
                     S_ISDIR(info.st_mode) ? "folder" : "FIFO, socket or device"));
  }
  if (info.st_size == 0) {
    fail(ErrorCode::kCorruptFile,
         fmt::format("{}: the file is empty; was the download finished?", path_));
  }
  const auto size = static_cast<size_t>(info.st_size);
  void* base = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (base == MAP_FAILED) {
    fail(ErrorCode::kOutOfMemory,
         fmt::format("{}: cannot map {} bytes: {}", path_, size, std::strerror(errno)));
  }
  bytes_ = {static_cast<const std::byte*>(base), size};
}

MappedFile::~MappedFile() {
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::release(std::span<const std::byte> range) const {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const auto offset = static_cast<size_t>(range.data() - bytes_.data());
  const size_t begin =
      (offset + page - 1) / page * page;  // whole pages only; the map starts at one
  const size_t end = (offset + range.size()) / page * page;
  if (begin < end) {
    ::madvise(const_cast<std::byte*>(bytes_.data()) + begin, end - begin, MADV_DONTNEED);
  }
}

}  // namespace fathom
