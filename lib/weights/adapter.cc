// From names in the file to modules.
// Called by api/session. Read next: weights/adapter_config.cc.
#include "weights/adapter.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "weights/byte_reader.h"
#include "weights/pytorch.h"
#include "weights/safetensors.h"

namespace fathom::weights {

namespace {

constexpr std::string_view kPrefix = "base_model.model.";
constexpr std::string_view kEndA = ".lora_A.weight";
constexpr std::string_view kEndB = ".lora_B.weight";

// Parts of names that only other kinds of adapters have.
struct OtherKind {
  std::string_view part;
  std::string_view kind;
};

constexpr OtherKind kOtherKinds[] = {
    {".lora_embedding_", "an adapter of an embedding"},
    {".lora_magnitude_vector", "a magnitude of DoRA"},
    {".lora_A.bias", "a bias"},
    {".lora_B.bias", "a bias"},
    {".modules_to_save.", "a module saved as a whole"},
    {".experts.lora_", "an adapter of stacked experts"},
};

bool exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

void add_tensors(const std::string& folder, TensorStore& out) {
  const std::string safe = folder + "/adapter_model.safetensors";
  const std::string pickled = folder + "/adapter_model.bin";
  if (exists(safe)) {
    return add_safetensors_file(safe, out);
  }
  if (exists(pickled)) {
    return add_pytorch_file(pickled, out);
  }
  fail(ErrorCode::kNotFound,
       fmt::format("{}: no weights in this folder; expected adapter_model.safetensors or "
                   "adapter_model.bin",
                   folder));
}

void refuse_other_kinds(const std::string& folder, const std::string& name) {
  for (const OtherKind& other : kOtherKinds) {
    if (name.find(other.part) != std::string::npos) {
      fail(ErrorCode::kUnsupported,
           fmt::format("{}: tensor {} is {}, which is not supported yet; supported: lora_A and "
                       "lora_B of linear modules",
                       folder, in_quotes(name), other.kind));
    }
  }
}

// The module's name between `kPrefix` and `end`; empty where either is missing.
std::string_view module_of(std::string_view name, std::string_view end) {
  if (!name.starts_with(kPrefix) || !name.ends_with(end) ||
      name.size() <= kPrefix.size() + end.size()) {
    return {};
  }
  return name.substr(kPrefix.size(), name.size() - kPrefix.size() - end.size());
}

}  // namespace

std::unique_ptr<Adapter> open_adapter(const std::string& folder) {
  const std::string config_path = folder + "/adapter_config.json";
  if (!exists(config_path)) {
    fail(ErrorCode::kNotFound,
         fmt::format("{}: no adapter_config.json in this folder; give the folder that peft's "
                     "save_pretrained wrote",
                     folder));
  }
  auto adapter = std::make_unique<Adapter>();
  adapter->config = read_adapter_config(config_path);
  add_tensors(folder, adapter->tensors);
  std::map<std::string_view, AdapterMatrices> modules;
  for (const auto& [name, tensor] : adapter->tensors.tensors()) {
    refuse_other_kinds(folder, name);
    const std::string_view of_a = module_of(name, kEndA);
    const std::string_view of_b = module_of(name, kEndB);
    if (!of_a.empty()) {
      modules[of_a].a = &tensor;
    } else if (!of_b.empty()) {
      modules[of_b].b = &tensor;
    } else {
      adapter->others.push_back(&tensor);
    }
  }
  if (adapter->tensors.tensors().empty()) {
    fail(ErrorCode::kCorruptFile,
         fmt::format("{}: found no tensors in its weights, expected lora_A and lora_B of each "
                     "module; nothing of the adapter was saved: save it again, or leave it away",
                     folder));
  }
  for (auto& [module, matrices] : modules) {
    matrices.module = module;
    matrices.rank = adapter->config.rank_of(module);
    matrices.scale = adapter->config.scale_of(module);
    matrices.is_target = adapter->config.is_target(module);
    adapter->modules.push_back(std::move(matrices));
  }
  return adapter;
}

}  // namespace fathom::weights
