// From the name and the keys of one part to all parts, in order.
// Called by weights/model_file. Read next: weights/gguf.cc.
#include "weights/gguf_split.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "weights/gguf.h"

namespace fathom::weights {

namespace {

constexpr std::string_view kNumberKey = "split.no";  // from 0, while names count from 1
constexpr std::string_view kCountKey = "split.count";
constexpr std::string_view kTensorsKey = "split.tensors.count";
constexpr int64_t kMaxParts = 65535;  // the format stores 16 bits

[[noreturn]] void fail_key(const std::string& path, std::string_view key, std::string_view found,
                           std::string_view expected) {
  fail(ErrorCode::kCorruptFile,
       fmt::format("{}: key '{}': found {}, expected {}", path, key, found, expected));
}

std::string suffix_of(int64_t number, int64_t count) {
  return fmt::format("-{:05}-of-{:05}.gguf", number + 1, count);
}

// Parts of the model that `metadata`, of one of them, belongs to; 1 when it is not split.
int64_t count_parts(const Metadata& metadata) {
  const int64_t count = metadata.find_int(kCountKey).value_or(1);
  if (count < 0 || count > kMaxParts) {
    fail_key(metadata.path(), kCountKey, fmt::format("{}", count),
             fmt::format("0 to {}", kMaxParts));
  }
  return count == 0 ? 1 : count;
}

// The path without the part's suffix.
std::string stem_of(const Metadata& metadata, int64_t count) {
  const int64_t number = metadata.get_int(kNumberKey);
  if (number < 0 || number >= count) {
    fail_key(metadata.path(), kNumberKey, fmt::format("{}", number),
             fmt::format("0 to {}", count - 1));
  }
  const std::string suffix = suffix_of(number, count);
  const std::string& path = metadata.path();
  if (!path.ends_with(suffix)) {
    fail(ErrorCode::kCorruptFile,
         fmt::format("{}: its keys say that it is part {} of {}: expected a name that ends in "
                     "\"{}\"; give the parts their own names back",
                     path, number + 1, count, suffix));
  }
  return path.substr(0, path.size() - suffix.size());
}

// A part that is not the one that was named has the keys that its place asks for.
void check_place(const Metadata& metadata, int64_t number, int64_t count) {
  const int64_t own_count = metadata.find_int(kCountKey).value_or(1);
  if (own_count != count) {
    fail_key(metadata.path(), kCountKey, fmt::format("{}", own_count),
             fmt::format("{}, as in the other parts; are these files of one model?", count));
  }
  const int64_t own_number = metadata.get_int(kNumberKey);
  if (own_number != number) {
    fail_key(metadata.path(), kNumberKey, fmt::format("{}", own_number),
             fmt::format("{}, as its name says", number));
  }
}

void check_total(const Metadata& metadata, const TensorStore& tensors) {
  const std::optional<int64_t> stated = metadata.find_int(kTensorsKey);
  const auto found = static_cast<int64_t>(tensors.tensors().size());
  if (stated && *stated != found) {
    fail_key(metadata.path(), kTensorsKey, fmt::format("{}", *stated),
             fmt::format("{}, the tensors of all parts together", found));
  }
}

// Opens part after part into one store.
std::unique_ptr<ModelFile> open_parts(const std::string& stem, int64_t count) {
  std::unique_ptr<ModelFile> model;
  for (int64_t number = 0; number < count; ++number) {
    const std::string path = stem + suffix_of(number, count);
    std::error_code error;
    if (!std::filesystem::exists(path, error)) {
      fail(ErrorCode::kNotFound,
           fmt::format("{}: no such file, but it is part {} of {} of the model; was the download "
                       "finished?",
                       path, number + 1, count));
    }
    Metadata metadata(Source::kGguf, path);
    if (model == nullptr) {
      model = std::make_unique<ModelFile>(ModelFile{metadata, {}});
      add_gguf_file(path, model->metadata, model->tensors);
      check_place(model->metadata, number, count);
    } else {
      add_gguf_file(path, metadata, model->tensors);
      check_place(metadata, number, count);
    }
  }
  check_total(model->metadata, model->tensors);
  return model;
}

}  // namespace

std::unique_ptr<ModelFile> open_gguf(const std::string& path) {
  auto model = std::make_unique<ModelFile>(ModelFile{Metadata(Source::kGguf, path), {}});
  add_gguf_file(path, model->metadata, model->tensors);
  const int64_t count = count_parts(model->metadata);
  if (count == 1) {
    return model;
  }
  const std::string stem = stem_of(model->metadata, count);
  model.reset();  // its vocabulary is read once more, with the other parts
  return open_parts(stem, count);
}

}  // namespace fathom::weights
