// The table of tensors and the mappings that keep their bytes alive.
// Called by weights/gguf, weights/safetensors (fill it), model/bind, model/load (read it).
#include "weights/tensor_store.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"

namespace fathom::weights {

namespace {

std::string_view origin(const MappedFile* file) {
  return file == nullptr ? std::string_view("bytes in memory") : std::string_view(file->path());
}

}  // namespace

const MappedFile& TensorStore::add_file(std::unique_ptr<MappedFile> file) {
  files_.push_back(std::move(file));
  return *files_.back();
}

void TensorStore::add(FileTensor tensor, const MappedFile* file) {
  const auto owner = owners_.find(tensor.name);
  if (owner != owners_.end()) {
    fail(ErrorCode::kCorruptFile,
         fmt::format("{}: tensor '{}' is there twice: first in {}; allowed once", origin(file),
                     tensor.name, origin(owner->second)));
  }
  owners_.emplace(tensor.name, file);
  std::string key = tensor.name;
  tensors_.emplace(std::move(key), std::move(tensor));
}

const FileTensor* TensorStore::find(std::string_view name) const {
  const auto it = tensors_.find(name);
  return it == tensors_.end() ? nullptr : &it->second;
}

void TensorStore::release(const FileTensor& tensor, std::span<const std::byte> range) const {
  const auto owner = owners_.find(tensor.name);
  if (owner != owners_.end() && owner->second != nullptr) {
    owner->second->release(range);
  }
}

size_t TensorStore::total_bytes() const {
  size_t total = 0;
  for (const auto& [name, tensor] : tensors_) {
    total += tensor.bytes.size();
  }
  return total;
}

}  // namespace fathom::weights
