// A file that appears whole or not at all: written under a temporary name, synced, then renamed.
// Called by weights/npy, apps. Thread rule: one thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace fathom {

class OutputFile {
 public:
  // Starts a temporary file in the folder of `path`; an existing file at `path` (the target of a
  // link) stays as it is until commit(). Errors: kNotFound (no such folder), kInvalidArgument (a
  // folder or device is in the way, no permission).
  explicit OutputFile(std::string path);
  // Without commit() the temporary file is removed.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Appends. Error: kResourceExhausted (disk full and the like).
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);

  // Syncs to disk and gives the file its name. Call once, last. Error: kResourceExhausted.
  void commit();

 private:
  [[noreturn]] void fail_write(std::string_view what) const;

  std::string path_;
  std::string temporary_path_;
  int fd_ = -1;
};

}  // namespace fathom
