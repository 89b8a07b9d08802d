// A regular file that is open for reading; nothing else is opened, and nothing is waited for.
// Called by base/mapped_file, api/http (keys, TLS), apps. Thread rule: const members may be called
// from any thread.
#pragma once

#include <cstdint>
#include <string>

namespace fathom {

class RegularFile {
 public:
  // Opens the file that `path` names or links to. A FIFO is refused at once and not waited for.
  // Errors: kNotFound (no such file), kInvalidArgument (a folder, FIFO, socket or device; not
  // readable).
  explicit RegularFile(std::string path);
  ~RegularFile();
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  // Valid as long as the object.
  [[nodiscard]] int fd() const { return fd_; }

  // Bytes, when it was opened.
  [[nodiscard]] int64_t size() const { return size_; }

  // All of it. Error: kInvalidArgument (more than `max_bytes`; cannot be read).
  [[nodiscard]] std::string read(int64_t max_bytes) const;

 private:
  std::string path_;
  int fd_;
  int64_t size_ = 0;
};

}  // namespace fathom
