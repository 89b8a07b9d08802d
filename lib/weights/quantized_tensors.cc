// Finds the quantized weights by the names and types of their parts.
// Called by weights/hf_folder.
#include "weights/quantized_tensors.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "weights/fp8_rows.h"
#include "weights/quantized_config.h"
#include "weights/quantized_gptq.h"
#include "weights/quantized_mxfp4.h"
#include "weights/quantized_packed.h"

namespace fathom::weights {

namespace {

enum class Layout { kWords, kPacked, kInt8, kFp8, kMxfp4 };

struct Found {
  Layout layout;
  std::string prefix;
};

std::string_view without(std::string_view name, std::string_view suffix) {
  return name.substr(0, name.size() - suffix.size());
}

// What the tensor is the main part of, if it is one of a quantized weight.
std::optional<Found> find_layout(const FileTensor& tensor, const TensorStore& store) {
  const std::string_view name = tensor.name;
  const auto has = [&](std::string_view start, std::string_view end) {
    return store.find(fmt::format("{}{}", start, end)) != nullptr;
  };
  if (name.ends_with(".qweight")) {
    return Found{Layout::kWords, std::string(without(name, "qweight"))};
  }
  if (name.ends_with(".weight_packed")) {
    return Found{Layout::kPacked, std::string(without(name, "weight_packed"))};
  }
  if (tensor.type == DType::kI8 && name.ends_with(".weight") && has(name, "_scale")) {
    return Found{Layout::kInt8, std::string(without(name, "weight"))};
  }
  const bool is_f8 = tensor.type == DType::kF8_E4M3 || tensor.type == DType::kF8_E5M2;
  if (is_f8 && (has(name, "_scale_inv") || has(name, "_scale"))) {
    return Found{Layout::kFp8, std::string(name)};
  }
  if (tensor.type == DType::kU8 && name.ends_with("_blocks") &&
      has(without(name, "_blocks"), "_scales")) {
    return Found{Layout::kMxfp4, std::string(without(name, "_blocks"))};
  }
  return std::nullopt;
}

[[noreturn]] void fail_method(const ModelFile& model, const std::string& tensor,
                              std::string_view method) {
  fail(ErrorCode::kUnsupported,
       fmt::format("{}: quantization_config: tensor '{}' is quantized, but found no quant_method "
                   "that says how; expected {}",
                   model.metadata.path(), tensor, method));
}

SourceTensor make_tensor(const ModelFile& model, ModuleTensors& module, Layout layout,
                         const QuantizationConfig& config) {
  switch (layout) {
    case Layout::kPacked:
      return make_packed_tensor(module);
    case Layout::kInt8:
      return make_int8_tensor(module);
    case Layout::kFp8:
      return make_fp8_tensor(module, config);
    case Layout::kMxfp4:
      return make_mxfp4_tensor(module);
    case Layout::kWords:
      break;
  }
  if (config.method == QuantMethod::kGptq) {
    return make_gptq_tensor(module, config);
  }
  if (config.method == QuantMethod::kAwq) {
    return make_awq_tensor(module, config);
  }
  fail_method(model, module.prefix() + "qweight", "'gptq' or 'awq'");
}

}  // namespace

void apply_quantization(ModelFile& model) {
  const QuantizationConfig config = read_quantization_config(model.metadata);
  std::vector<Found> found;
  for (const auto& [name, tensor] : model.tensors.tensors()) {
    if (auto layout = find_layout(tensor, model.tensors)) {
      found.push_back(*std::move(layout));
    }
  }
  for (const Found& weight : found) {
    ModuleTensors module(&model.tensors, weight.prefix);
    SourceTensor computed = make_tensor(model, module, weight.layout, config);
    if (weight.layout == Layout::kFp8 && weight.prefix.ends_with(".weight")) {
      ModuleTensors parent(&model.tensors, std::string(without(weight.prefix, "weight")));
      parent.drop({"input_scale", "activation_scale"});
    }
    model.tensors.add(std::move(computed.tensor), computed.file);
  }
}

}  // namespace fathom::weights
