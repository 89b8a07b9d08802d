// A file mapped read-only; unmapped when the object goes.
// Called by weights. Thread rule: const members may be called from any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace fathom {

class MappedFile {
 public:
  // Maps the whole file. Errors: kNotFound (no such file), kInvalidArgument (a folder, FIFO or
  // device; not readable), kCorruptFile (empty).
  explicit MappedFile(std::string path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

  // Tells the kernel that `range`, part of bytes(), is not needed for now: its pages leave the
  // resident set, and those before it that a fault would have brought with them. Reading any of
  // them again is allowed.
  void release(std::span<const std::byte> range) const;

 private:
  std::string path_;
  std::span<const std::byte> bytes_;
};

}  // namespace fathom
