// Reads the sizes that all decoders share, once for GGUF and once for config.json.
#include "model/arch/common.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"

namespace fathom::model {

namespace {

using weights::Metadata;
using weights::Source;

// Refuses sizes before they become loops or allocations.
int64_t sane(const Metadata& md, std::string_view key, int64_t value, int64_t largest) {
  if (value < 1 || value > largest) {
    fail(ErrorCode::kCorruptFile,
         fmt::format("{}: key '{}' is {}, expected 1 to {}", md.path(), key, value, largest));
  }
  return value;
}

int64_t get_size(const Metadata& md, const std::string& key, int64_t largest) {
  return sane(md, key, md.get_int(key), largest);
}

int64_t find_size(const Metadata& md, const std::string& key, int64_t otherwise, int64_t largest) {
  return sane(md, key, md.find_int(key).value_or(otherwise), largest);
}

constexpr int64_t kMostLayers = 4096;
constexpr int64_t kMostHeads = 4096;
constexpr int64_t kMostWidth = int64_t{1} << 24;
constexpr int64_t kMostHeadDim = 512;  // of the attention kernels
constexpr int64_t kMostContext = int64_t{1} << 30;

void read_gguf_rope(const Metadata& md, RopeOptions& rope) {
  rope.theta = md.find_double(arch_key(md, "rope.freq_base")).value_or(10000.0);
  rope.rotary_dim = static_cast<int>(
      find_size(md, arch_key(md, "rope.dimension_count"), rope.rotary_dim, kMostHeadDim));
  const std::string kind = md.find_string(arch_key(md, "rope.scaling.type")).value_or("none");
  if (kind == "linear") {
    rope.scaling = RopeScaling::kLinear;
    rope.factor = md.get_double(arch_key(md, "rope.scaling.factor"));
  } else if (kind != "none") {
    fail(ErrorCode::kUnsupported,
         fmt::format("{}: rope scaling '{}' is not supported yet (linear and llama3 are)",
                     md.path(), kind));
  }
}

void read_gguf(const Metadata& md, ModelConfig& config, LayerOptions& layer, RopeOptions& rope) {
  const auto key = [&md](std::string_view name) { return arch_key(md, name); };
  config.n_layers = get_size(md, key("block_count"), kMostLayers);
  config.hidden_size = get_size(md, key("embedding_length"), kMostWidth);
  config.max_context = get_size(md, key("context_length"), kMostContext);
  const auto* tokens = md.find_strings("tokenizer.ggml.tokens");
  config.n_vocab =
      find_size(md, key("vocab_size"), tokens != nullptr ? static_cast<int64_t>(tokens->size()) : 0,
                kMostWidth);
  config.norm_eps = md.get_double(key("attention.layer_norm_rms_epsilon"));
  layer.ffn_size = get_size(md, key("feed_forward_length"), kMostWidth);
  layer.n_heads = static_cast<int>(get_size(md, key("attention.head_count"), kMostHeads));
  layer.n_kv_heads =
      static_cast<int>(find_size(md, key("attention.head_count_kv"), layer.n_heads, kMostHeads));
  layer.head_dim = static_cast<int>(
      find_size(md, key("attention.key_length"), config.hidden_size / layer.n_heads, kMostHeadDim));
  rope.rotary_dim = layer.head_dim;
  read_gguf_rope(md, rope);
}

void read_hf(const Metadata& md, ModelConfig& config, LayerOptions& layer, RopeOptions& rope) {
  config.n_layers = get_size(md, "num_hidden_layers", kMostLayers);
  config.hidden_size = get_size(md, "hidden_size", kMostWidth);
  config.n_vocab = get_size(md, "vocab_size", kMostWidth);
  config.max_context = find_size(md, "max_position_embeddings", 2048, kMostContext);
  config.norm_eps = md.find_double("rms_norm_eps").value_or(1e-6);
  config.tied_head = md.find_bool("tie_word_embeddings").value_or(false);
  layer.ffn_size = get_size(md, "intermediate_size", kMostWidth);
  layer.n_heads = static_cast<int>(get_size(md, "num_attention_heads", kMostHeads));
  layer.n_kv_heads =
      static_cast<int>(find_size(md, "num_key_value_heads", layer.n_heads, kMostHeads));
  layer.head_dim =
      static_cast<int>(find_size(md, "head_dim", config.hidden_size / layer.n_heads, kMostHeadDim));
  layer.activation = parse_activation(md, md.find_string("hidden_act").value_or("silu"));
  rope.rotary_dim = layer.head_dim;
  read_hf_rope(md, "rope_parameters.", rope);
}

// A file of experts would bind as a dense one of the same family: refused by its count.
void refuse_experts(const Metadata& md, std::string_view key) {
  if (const int64_t count = md.find_int(key).value_or(0); count > 0) {
    fail(ErrorCode::kUnsupported,
         fmt::format("{}: mixtures of experts are not supported yet (key '{}' is {})", md.path(),
                     key, count));
  }
}

}  // namespace

std::string arch_key(const Metadata& metadata, std::string_view name) {
  return fmt::format("{}.{}", metadata.get_string("general.architecture"), name);
}

kernels::Activation parse_activation(const Metadata& metadata, std::string_view name) {
  using kernels::Activation;
  if (name == "silu" || name == "swish") {
    return Activation::kSilu;
  }
  if (name == "gelu") {
    return Activation::kGeluErf;
  }
  if (name == "gelu_new" || name == "gelu_pytorch_tanh" || name == "gelu_fast") {
    return Activation::kGeluTanh;
  }
  if (name == "relu") {
    return Activation::kRelu;
  }
  fail(ErrorCode::kUnsupported,
       fmt::format("{}: activation '{}' is not supported yet", metadata.path(), name));
}

void read_hf_rope(const Metadata& md, std::string_view prefix, RopeOptions& rope) {
  std::string scaling = "rope_scaling.";
  const std::string theta_key = std::string(prefix) + "rope_theta";
  if (md.contains(theta_key)) {
    scaling = prefix;
    rope.theta = md.get_double(theta_key);
  } else {
    rope.theta = md.find_double("rope_theta").value_or(rope.theta);
  }
  const auto key = [&scaling](std::string_view name) { return scaling + std::string(name); };
  std::string kind = md.find_string(key("rope_type")).value_or("");
  if (kind.empty()) {
    kind = md.find_string(key("type")).value_or("default");
  }
  if (kind == "default") {
    return;
  }
  if (kind == "linear") {
    rope.scaling = RopeScaling::kLinear;
    rope.factor = md.get_double(key("factor"));
  } else if (kind == "llama3") {
    rope.scaling = RopeScaling::kLlama3;
    rope.factor = md.get_double(key("factor"));
    rope.low_freq_factor = md.get_double(key("low_freq_factor"));
    rope.high_freq_factor = md.get_double(key("high_freq_factor"));
    rope.original_context = md.get_double(key("original_max_position_embeddings"));
  } else {
    fail(ErrorCode::kUnsupported,
         fmt::format("{}: rope scaling '{}' is not supported yet (linear and llama3 are)",
                     md.path(), kind));
  }
}

ModelConfig read_common_config(const Metadata& metadata) {
  ModelConfig config;
  LayerOptions layer;
  RopeOptions rope;
  if (metadata.source() == Source::kGguf) {
    config.family = metadata.get_string("general.architecture");
    refuse_experts(metadata, arch_key(metadata, "expert_count"));
    read_gguf(metadata, config, layer, rope);
  } else {
    config.family = metadata.find_strings("architectures")->front();
    read_hf(metadata, config, layer, rope);
  }
  layer.score_scale = 1.0 / std::sqrt(static_cast<double>(layer.head_dim));
  config.layers.assign(static_cast<size_t>(config.n_layers), layer);
  config.ropes = {rope};
  return config;
}

}  // namespace fathom::model
