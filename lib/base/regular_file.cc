// The kind of a file is asked of the open descriptor, so that it cannot change in between.
#include "base/regular_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace fathom {

namespace {

const char* kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return "folder";
    case S_IFIFO:
      return "FIFO";
    case S_IFSOCK:
      return "socket";
    default:
      return "device";
  }
}

}  // namespace

RegularFile::RegularFile(std::string path)
    : path_(std::move(path)),
      // O_NONBLOCK: a FIFO must be refused, not waited for.
      fd_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
  if (fd_ < 0) {
    const bool missing = errno == ENOENT || errno == ENOTDIR;
    fail(missing ? ErrorCode::kNotFound : ErrorCode::kInvalidArgument,
         fmt::format("{}: cannot open: {}; check the path and its permissions", path_,
                     errno == ENXIO ? "it is a socket or device" : std::strerror(errno)));
  }

  struct stat info {};

  std::string fault;
  if (::fstat(fd_, &info) != 0) {
    fault = fmt::format("cannot read its size: {}", std::strerror(errno));
  } else if (!S_ISREG(info.st_mode)) {
    fault = fmt::format("is a {}, expected a regular file", kind_of(info.st_mode));
  }
  if (!fault.empty()) {
    ::close(fd_);
    fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", path_, fault));
  }
  size_ = info.st_size;
}

RegularFile::~RegularFile() {
  ::close(fd_);
}

std::string RegularFile::read(int64_t max_bytes) const {
  std::string text;
  std::array<char, 65536> piece;
  while (true) {
    const ssize_t n = ::pread(fd_, piece.data(), piece.size(), static_cast<off_t>(text.size()));
    if (n == 0) {
      return text;
    }
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      fail(ErrorCode::kInvalidArgument,
           fmt::format("{}: cannot be read: {}", path_, std::strerror(errno)));
    }
    text.append(piece.data(), static_cast<size_t>(n));
    if (static_cast<int64_t>(text.size()) > max_bytes) {
      fail(ErrorCode::kInvalidArgument,
           fmt::format("{}: found more than {} bytes; expected less", path_, max_bytes));
    }
  }
}

}  // namespace fathom
