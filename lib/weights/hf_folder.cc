// Which files of a folder make up a model, and how they belong together.
// Called by weights/model_file. Read next: weights/safetensors.cc, weights/pytorch.cc.
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
#include "weights/pytorch.h"
#include "weights/quantized_config.h"
#include "weights/quantized_tensors.h"
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

// Where quantizers said how they stored the weights before config.json did, and which they are.
struct QuantizerFile {
  std::string_view name;
  std::string_view method;
};

constexpr QuantizerFile kQuantizerFiles[] = {{"quantize_config.json", "gptq"},
                                             {"quant_config.json", "awq"}};

// Without a quantization_config in config.json, its keys come from the quantizer's own file.
void read_quantizer_file(const std::string& folder, Metadata& metadata) {
  if (read_quantization_config(metadata).method != QuantMethod::kNone) {
    return;
  }
  for (const QuantizerFile& file : kQuantizerFiles) {
    const std::string path = fmt::format("{}/{}", folder, file.name);
    if (!exists(path)) {
      continue;
    }
    Metadata own(Source::kHuggingFace, path);
    read_config(path, "quantization_config.", own);
    if (!own.find_string("quantization_config.quant_method")) {
      own.set("quantization_config.quant_method", std::string(file.method));
    }
    (void)read_quantization_config(own);  // its errors name this file
    metadata.erase("quantization_config");
    for (const auto& [key, value] : own.entries()) {
      metadata.set(key, value);
    }
    return;
  }
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

// One way in which weights lie in a folder.
struct WeightFormat {
  std::string_view single;  // the one file, or
  std::string_view index;   // what names the shards
  void (*add_file)(const std::string& path, TensorStore& out);
};

// The first that is there counts, as for transformers.
constexpr WeightFormat kFormats[] = {
    {"model.safetensors", "model.safetensors.index.json", add_safetensors_file},
    {"pytorch_model.bin", "pytorch_model.bin.index.json", add_pytorch_file},
};

// Every tensor of the index lies in the shard that it names.
void check_places(const std::string& folder, const std::string& index_path,
                  const std::map<std::string, std::string>& weight_map,
                  const TensorStore& tensors) {
  for (const auto& [tensor, shard] : weight_map) {
    const MappedFile* file = tensors.file_of(tensor);
    if (file == nullptr || file->path() != fmt::format("{}/{}", folder, shard)) {
      const std::string found =
          file == nullptr ? std::string("nowhere")
                          : "in " + std::filesystem::path(file->path()).filename().string();
      fail(ErrorCode::kCorruptFile,
           fmt::format("{}: weight_map, tensor {}: found it {}, allowed in {}", index_path,
                       in_quotes(tensor), found, shard));
    }
  }
}

void add_shards(const std::string& folder, const WeightFormat& format, TensorStore& out) {
  const std::string index_path = fmt::format("{}/{}", folder, format.index);
  const MappedFile index(index_path);
  const std::map<std::string, std::string> weight_map =
      parse_weight_map(text_of(index, kMaxIndexBytes), index_path);
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : weight_map) {
    check_shard_name(index_path, tensor, shard);
    shards.insert(shard);
  }
  for (const std::string& shard : shards) {
    const std::string path = fmt::format("{}/{}", folder, shard);
    if (!exists(path)) {
      fail(ErrorCode::kNotFound,
           fmt::format("{}: no such file, but {} names it; was the download finished?", path,
                       index_path));
    }
    format.add_file(path, out);
  }
  check_places(folder, index_path, weight_map, out);
}

void add_weights(const std::string& folder, TensorStore& out) {
  for (const WeightFormat& format : kFormats) {
    const std::string single = fmt::format("{}/{}", folder, format.single);
    if (exists(single)) {
      return format.add_file(single, out);
    }
    if (exists(fmt::format("{}/{}", folder, format.index))) {
      return add_shards(folder, format, out);
    }
  }
  std::vector<std::string> shards = find_names(folder, "model-", ".safetensors");
  const std::vector<std::string> bins = find_names(folder, "pytorch_model-", ".bin");
  shards.insert(shards.end(), bins.begin(), bins.end());
  const std::string hint =
      shards.empty()
          ? std::string()
          : fmt::format("; {} is a shard, and the index that names all is missing", shards.front());
  fail(ErrorCode::kNotFound,
       fmt::format("{}: no weights in this folder; expected model.safetensors or "
                   "pytorch_model.bin, or model.safetensors.index.json or "
                   "pytorch_model.bin.index.json and the shards they name{}",
                   folder, hint));
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
  read_quantizer_file(folder, model->metadata);
  add_weights(folder, model->tensors);
  apply_quantization(*model);
  return model;
}

}  // namespace fathom::weights
