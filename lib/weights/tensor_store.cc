// The table of tensors and the mappings that keep their bytes alive.
// Called by weights/gguf, weights/safetensors, weights/pytorch (fill it), model/bind, model/load
// (read it).
#include "weights/tensor_store.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"
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

FileTensor TensorStore::remove(std::string_view name) {
  const auto it = tensors_.find(name);
  FATHOM_CHECK(it != tensors_.end());
  FileTensor tensor = std::move(it->second);
  tensors_.erase(it);
  owners_.erase(owners_.find(name));
  return tensor;
}

const FileTensor* TensorStore::find(std::string_view name) const {
  const auto it = tensors_.find(name);
  return it == tensors_.end() ? nullptr : &it->second;
}

const MappedFile* TensorStore::file_of(std::string_view name) const {
  const auto owner = owners_.find(name);
  return owner == owners_.end() ? nullptr : owner->second;
}

void TensorStore::release_all() const {
  for (const auto& file : files_) {
    file->release(file->bytes());
  }
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
    total += tensor.reader == nullptr ? tensor.bytes.size() : tensor.reader->file_bytes();
  }
  return total;
}

}  // namespace fathom::weights
