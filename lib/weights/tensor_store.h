// Name to tensor over one or more mapped files.
// Called by model/bind and model/load. Thread rule: const after loading, any thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "base/tensor.h"

namespace fathom::weights {

class TensorStore {
 public:
  // Takes over a mapping; tensors added afterwards may point into it.
  const MappedFile& add_file(std::unique_ptr<MappedFile> file);

  // Error: kCorruptFile when the name is there already (the message names both files).
  // `file` is nullptr for bytes that the caller keeps in memory: release() then does nothing.
  void add(FileTensor tensor, const MappedFile* file);

  // Takes a tensor out; the name must be there. Its file stays mapped.
  FileTensor remove(std::string_view name);

  // nullptr when there is none. Valid while the store lives.
  [[nodiscard]] const FileTensor* find(std::string_view name) const;

  // The file that a tensor was added with; nullptr for an unknown name, or bytes in memory.
  [[nodiscard]] const MappedFile* file_of(std::string_view name) const;

  // Drops the bytes of `range` (part of the tensor) from the resident set after packing.
  void release(const FileTensor& tensor, std::span<const std::byte> range) const;

  // Drops the bytes of every file; reading them again is allowed.
  void release_all() const;

  // The mapped files, in the order in which they were added.
  [[nodiscard]] const std::vector<std::unique_ptr<MappedFile>>& files() const { return files_; }

  // All tensors by name.
  [[nodiscard]] const std::map<std::string, FileTensor, std::less<>>& tensors() const {
    return tensors_;
  }

  // Bytes of files that all tensors take; of one with a reader, what its rows come from.
  [[nodiscard]] size_t total_bytes() const;

 private:
  std::vector<std::unique_ptr<MappedFile>> files_;
  std::map<std::string, FileTensor, std::less<>> tensors_;
  std::map<std::string, const MappedFile*, std::less<>> owners_;
};

}  // namespace fathom::weights
