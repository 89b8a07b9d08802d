// open, write, fsync, rename, fsync of the folder: a crash at any point leaves the old file or the
// new. Called by weights/npy. Read next: base/mapped_file.cc, its reading twin.
#include "base/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace fathom {

namespace {

constexpr int kMaxNames = 100;  // temporary names tried

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// The file behind a link, so that the link stays; refuses what a rename would destroy.
std::string resolve(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    return path;
  }
  if (!std::filesystem::is_regular_file(status)) {
    fail(ErrorCode::kInvalidArgument,
         fmt::format("{}: found a {} in the way, expected a file name; choose another path", path,
                     std::filesystem::is_directory(status) ? "folder" : "FIFO, socket or device"));
  }
  const auto target = std::filesystem::canonical(path, error);
  return error ? path : target.string();
}

}  // namespace

OutputFile::OutputFile(std::string path) : path_(resolve(path)) {
  for (int i = 0; i < kMaxNames && fd_ < 0; ++i) {
    temporary_path_ = fmt::format("{}.tmp-{}-{}", path_, ::getpid(), i);
    fd_ = ::open(temporary_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0 && errno != EEXIST) {
      break;
    }
  }
  if (fd_ < 0) {
    const int reason = errno;
    const bool missing = reason == ENOENT || reason == ENOTDIR;
    fail(missing ? ErrorCode::kNotFound : ErrorCode::kInvalidArgument,
         fmt::format("{}: cannot create a file in {}: {}; check the folder and its permissions",
                     path_, folder_of(path_), std::strerror(reason)));
  }
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) {
    ::close(fd_);
    ::unlink(temporary_path_.c_str());
  }
}

void OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n <= 0) {
      fail_write("write");
    }
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
}

void OutputFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text)));
}

void OutputFile::commit() {
  if (::fsync(fd_) != 0) {
    fail_write("sync");
  }
  if (::rename(temporary_path_.c_str(), path_.c_str()) != 0) {
    fail_write("rename");
  }
  ::close(std::exchange(fd_, -1));
  // The name itself is on disk when the folder is; not every file system can do this, so no error.
  const int folder = ::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
}

void OutputFile::fail_write(std::string_view what) const {
  fail(ErrorCode::kResourceExhausted,
       fmt::format("{}: cannot {} {}: {}; nothing was changed", path_, what, temporary_path_,
                   std::strerror(errno)));
}

}  // namespace fathom
