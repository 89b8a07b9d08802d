// The keys of quantization_config, method by method.
// Called by weights/quantized_tensors. Sources: the configuration classes of transformers
// (utils/quantization_config.py) and of compressed-tensors (quantization/quant_config.py).
#include "weights/quantized_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/error.h"

namespace fathom::weights {

namespace {

constexpr std::string_view kAdvice = "use a checkpoint in one of these, or the unquantized model";

// Values of one quantization_config.
class Keys {
 public:
  Keys(const Metadata& metadata, std::string prefix)
      : metadata_(metadata), prefix_(std::move(prefix)) {}

  // Lower case; empty when absent.
  [[nodiscard]] std::string word(std::string_view key) const {
    std::string text = metadata_.find_string(prefix_ + std::string(key)).value_or("");
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
  }

  // The first of two spellings that is there.
  [[nodiscard]] std::string word(std::string_view key, std::string_view other) const {
    const std::string text = word(key);
    return text.empty() ? word(other) : text;
  }

  [[nodiscard]] int64_t number(std::string_view key, std::string_view other,
                               int64_t fallback) const {
    const auto value = metadata_.find_int(prefix_ + std::string(key));
    return value ? *value : metadata_.find_int(prefix_ + std::string(other)).value_or(fallback);
  }

  [[nodiscard]] bool flag(std::string_view key) const {
    return metadata_.find_bool(prefix_ + std::string(key)).value_or(false);
  }

  [[nodiscard]] const std::vector<int64_t>* numbers(std::string_view key) const {
    return metadata_.find_ints(prefix_ + std::string(key));
  }

  [[nodiscard]] bool is_null(std::string_view key) const {
    const auto it = metadata_.entries().find(prefix_ + std::string(key));
    return it == metadata_.entries().end() || std::holds_alternative<std::monostate>(it->second);
  }

  // Keys that start with `start`, without the prefix.
  [[nodiscard]] std::vector<std::string> keys_below(std::string_view start) const {
    std::vector<std::string> found;
    const std::string from = prefix_ + std::string(start);
    for (auto it = metadata_.entries().lower_bound(from);
         it != metadata_.entries().end() && it->first.starts_with(from); ++it) {
      found.push_back(it->first.substr(prefix_.size()));
    }
    return found;
  }

  [[noreturn]] void refuse(std::string_view key, std::string_view found,
                           std::string_view read) const {
    fail(ErrorCode::kUnsupported,
         fmt::format("{}: {}{}: found {}, read are {}; {}", metadata_.path(), prefix_, key, found,
                     read, kAdvice));
  }

  void check_word(std::string_view key, const std::string& found,
                  std::initializer_list<std::string_view> read) const {
    if (found.empty() || std::ranges::find(read, found) != read.end()) {
      return;
    }
    std::string names;
    for (const std::string_view name : read) {
      names += fmt::format("{}'{}'", names.empty() ? "" : ", ", name);
    }
    refuse(key, fmt::format("'{}'", found), names);
  }

 private:
  const Metadata& metadata_;
  std::string prefix_;
};

QuantizationConfig read_gptq(const Keys& keys) {
  QuantizationConfig config;
  config.method = QuantMethod::kGptq;
  const std::string format = keys.word("checkpoint_format", "format");
  keys.check_word("checkpoint_format", format, {"gptq", "gptq_v2"});
  if (keys.flag("is_marlin_format")) {
    keys.refuse("is_marlin_format", "true", "files packed as 'gptq' or 'gptq_v2'");
  }
  config.zeros_less_one = format != "gptq_v2";
  config.bits = static_cast<int>(keys.number("bits", "w_bit", 0));
  if (config.bits != 4 && config.bits != 8) {
    keys.refuse("bits", fmt::format("{}", config.bits), "4 and 8");
  }
  config.group_size = keys.number("group_size", "q_group_size", 128);
  return config;
}

QuantizationConfig read_awq(const Keys& keys) {
  QuantizationConfig config;
  config.method = QuantMethod::kAwq;
  keys.check_word("version", keys.word("version", "format"), {"gemm"});
  config.bits = static_cast<int>(keys.number("bits", "w_bit", 4));
  if (config.bits != 4) {
    keys.refuse("bits", fmt::format("{}", config.bits), "4");
  }
  config.group_size = keys.number("group_size", "q_group_size", 128);
  return config;
}

QuantizationConfig read_compressed_tensors(const Keys& keys) {
  const std::initializer_list<std::string_view> formats = {"pack-quantized",  "int-quantized",
                                                           "float-quantized", "naive-quantized",
                                                           "mixed-precision", "dense"};
  keys.check_word("format", keys.word("format"), formats);
  for (const std::string& key : keys.keys_below("config_groups.")) {
    if (key.ends_with(".format")) {
      keys.check_word(key, keys.word(key), formats);
    }
  }
  keys.check_word("sparsity_config.format", keys.word("sparsity_config.format"), {"dense"});
  for (const std::string& key : keys.keys_below("transform_config.config_groups.")) {
    keys.refuse(key, "a rotation of activations", "checkpoints without transform_config");
  }
  QuantizationConfig config;
  config.method = QuantMethod::kCompressedTensors;
  return config;
}

QuantizationConfig read_fp8(const Keys& keys) {
  QuantizationConfig config;
  config.method = QuantMethod::kFp8;
  const std::vector<int64_t>* block = keys.numbers("weight_block_size");
  if (block != nullptr) {
    if (block->size() != 2 || (*block)[0] < 1 || (*block)[1] < 1) {
      keys.refuse("weight_block_size", fmt::format("{} numbers", block->size()),
                  "two numbers, rows and columns");
    }
    config.block_rows = (*block)[0];
    config.block_cols = (*block)[1];
  }
  return config;
}

}  // namespace

QuantizationConfig read_quantization_config(const Metadata& metadata) {
  const bool is_old = metadata.find_string("compression_config.quant_method").has_value();
  const Keys keys(metadata, is_old ? "compression_config." : "quantization_config.");
  const std::string method = keys.word("quant_method");
  if (method == "gptq") {
    return read_gptq(keys);
  }
  if (method == "awq") {
    return read_awq(keys);
  }
  if (method == "compressed-tensors") {
    return read_compressed_tensors(keys);
  }
  if (method == "fp8" || method == "fbgemm_fp8") {
    return read_fp8(keys);
  }
  QuantizationConfig config;
  if (method == "mxfp4") {
    config.method = QuantMethod::kMxfp4;
    return config;
  }
  const bool has_keys = !keys.keys_below("").empty();
  if (!method.empty() || has_keys) {
    const std::string found =
        method.empty() ? std::string("none beside other keys") : fmt::format("'{}'", method);
    keys.refuse("quant_method", found,
                "'gptq', 'awq', 'compressed-tensors', 'fp8', 'fbgemm_fp8', 'mxfp4'");
  }
  return config;
}

}  // namespace fathom::weights
