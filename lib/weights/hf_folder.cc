// Which files of a folder make up a model, and how they belong together.
// Called by weights/model_file. Read next: weights/safetensors.cc.
#include "weights/hf_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "weights/byte_reader.h"
#include "weights/json.h"
#include "weights/safetensors.h"

namespace fathom::weights {

namespace {

constexpr size_t kMaxConfigBytes = size_t{16} << 20;
constexpr size_t kMaxIndexBytes = size_t{64} << 20;

bool exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

std::string_view text_of(const MappedFile& file, size_t max_bytes) {
  if (file.bytes().size() > max_bytes) {
    fail(ErrorCode::kCorruptFile, fmt::format("{}: byte 0: size: found {} bytes, allowed {}",
                                              file.path(), file.bytes().size(), max_bytes));
  }
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

void read_config(const std::string& path, std::string_view prefix, Metadata& metadata) {
  const MappedFile file(path);
  flatten_json(text_of(file, kMaxConfigBytes), path, prefix, metadata);
}

// Names in the folder that start with `start` and end with `end`, sorted.
std::vector<std::string> find_names(const std::string& folder, std::string_view start,
                                    std::string_view end) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(start) && name.ends_with(end)) {
      names.push_back(name);
    }
  }
  std::ranges::sort(names);
  return names;
}

// A shard lies in the folder itself: its name is no path.
void check_shard_name(const std::string& index_path, const std::string& tensor,
                      const std::string& shard) {
  const bool plain = !shard.empty() && shard != "." && shard != ".." &&
                     shard.find('/') == std::string::npos && shard.find('\0') == std::string::npos;
  if (!plain) {
    fail(ErrorCode::kCorruptFile,
         fmt::format("{}: weight_map, tensor {}: found file {}, allowed a file name without a "
                     "folder",
                     index_path, in_quotes(tensor), in_quotes(shard)));
  }
}

void add_shards(const std::string& folder, const std::string& index_path, TensorStore& out) {
  const MappedFile index(index_path);
  const std::map<std::string, std::string> weight_map =
      parse_weight_map(text_of(index, kMaxIndexBytes), index_path);
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : weight_map) {
    check_shard_name(index_path, tensor, shard);
    shards.insert(shard);
  }
  std::map<std::string, std::string> places;  // tensor to the shard it was found in
  for (const std::string& shard : shards) {
    const std::string path = fmt::format("{}/{}", folder, shard);
    if (!exists(path)) {
      fail(ErrorCode::kNotFound,
           fmt::format("{}: no such file, but {} names it; was the download finished?", path,
                       index_path));
    }
    add_safetensors_file(path, out);
    for (const auto& [name, tensor] : out.tensors()) {
      places.try_emplace(name, shard);
    }
  }
  for (const auto& [tensor, shard] : weight_map) {
    const auto place = places.find(tensor);
    if (place == places.end() || place->second != shard) {
      fail(ErrorCode::kCorruptFile,
           fmt::format("{}: weight_map, tensor {}: found it {}, allowed in {}", index_path,
                       in_quotes(tensor), place == places.end() ? "nowhere" : "in " + place->second,
                       shard));
    }
  }
}

[[noreturn]] void fail_no_weights(const std::string& folder) {
  const std::vector<std::string> bins = find_names(folder, "pytorch_model", ".bin");
  if (!bins.empty()) {
    fail(ErrorCode::kUnsupported,
         fmt::format("{}/{}: pickled PyTorch weights are not read; convert the model to "
                     "safetensors (save_pretrained writes them)",
                     folder, bins.front()));
  }
  fail(ErrorCode::kNotFound,
       fmt::format("{}: no weights in this folder; expected model.safetensors, or "
                   "model.safetensors.index.json and its shards",
                   folder));
}

[[noreturn]] void fail_no_config(const std::string& folder) {
  const std::vector<std::string> ggufs = find_names(folder, "", ".gguf");
  const std::string hint = ggufs.empty()
                               ? std::string("give a Hugging Face model folder or a GGUF file")
                               : fmt::format("give the file {}/{} itself", folder, ggufs.front());
  fail(ErrorCode::kNotFound, fmt::format("{}: no config.json in this folder; {}", folder, hint));
}

}  // namespace

std::unique_ptr<ModelFile> open_hf_folder(const std::string& folder) {
  const std::string config_path = folder + "/config.json";
  if (!exists(config_path)) {
    fail_no_config(folder);
  }
  auto model =
      std::make_unique<ModelFile>(ModelFile{Metadata(Source::kHuggingFace, config_path), {}});
  read_config(config_path, "", model->metadata);
  if (const std::string path = folder + "/generation_config.json"; exists(path)) {
    read_config(path, "generation.", model->metadata);
  }
  const std::string single = folder + "/model.safetensors";
  const std::string index = folder + "/model.safetensors.index.json";
  if (exists(single)) {
    add_safetensors_file(single, model->tensors);
  } else if (exists(index)) {
    add_shards(folder, index, model->tensors);
  } else {
    fail_no_weights(folder);
  }
  return model;
}

}  // namespace fathom::weights
