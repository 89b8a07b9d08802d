// Names, types and shapes of the parts of a quantized module.
// Called by weights/quantized_tensors and the makers of its formats.
#include "weights/quantized_module.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/tensor.h"

namespace fathom::weights {

std::string where(const SourceTensor& source) {
  const std::string_view file =
      source.file == nullptr ? std::string_view("bytes in memory") : source.file->path();
  return fmt::format("{}: tensor '{}'", file, source.tensor.name);
}

void check_type(const SourceTensor& source, std::initializer_list<DType> types) {
  if (std::ranges::find(types, source.tensor.type) == types.end()) {
    std::string names;
    for (const DType type : types) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(type));
    }
    fail(ErrorCode::kUnsupported,
         fmt::format("{}: type: found {}, read are {} for this part of a quantized weight",
                     where(source), name_of(source.tensor.type), names));
  }
  if (source.tensor.n_elements() == 0) {
    fail(ErrorCode::kCorruptFile, fmt::format("{}: shape: found {}, expected at least one element",
                                              where(source), format_shape(source.tensor.shape)));
  }
  if (source.tensor.reader != nullptr) {
    fail(ErrorCode::kUnsupported,
         fmt::format("{}: found elements that do not lie in order; parts of quantized weights are "
                     "read in order only; save the checkpoint again with save_pretrained",
                     where(source)));
  }
}

void check_shape(const SourceTensor& source, const std::vector<int64_t>& expected,
                 std::string_view why) {
  if (source.tensor.shape != expected) {
    fail(ErrorCode::kCorruptFile,
         fmt::format("{}: shape: found {}, expected {} ({})", where(source),
                     format_shape(source.tensor.shape), format_shape(expected), why));
  }
}

SourceTensor make_computed(std::string name, DType type, std::vector<int64_t> shape,
                           const MappedFile* file, std::shared_ptr<const RowReader> reader) {
  SourceTensor result;
  result.file = file;
  result.tensor.name = std::move(name);
  result.tensor.type = type;
  result.tensor.shape = std::move(shape);
  result.tensor.reader = std::move(reader);
  return result;
}

bool ModuleTensors::has(std::string_view suffix) const {
  return store_->find(prefix_ + std::string(suffix)) != nullptr;
}

SourceTensor ModuleTensors::take(std::string_view suffix) {
  std::optional<SourceTensor> source = try_take(suffix);
  if (!source) {
    fail(ErrorCode::kCorruptFile,
         fmt::format("tensor '{}{}' is missing, but other parts of this quantized weight are "
                     "there; was the download finished?",
                     prefix_, suffix));
  }
  return *std::move(source);
}

std::optional<SourceTensor> ModuleTensors::try_take(std::string_view suffix) {
  const std::string name = prefix_ + std::string(suffix);
  if (store_->find(name) == nullptr) {
    return std::nullopt;
  }
  const MappedFile* file = store_->file_of(name);
  return SourceTensor{store_->remove(name), file};
}

void ModuleTensors::drop(std::initializer_list<std::string_view> suffixes) {
  for (const std::string_view suffix : suffixes) {
    try_take(suffix);
  }
}

}  // namespace fathom::weights
