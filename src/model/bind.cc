// The common tensor names, the expected shapes, and the report of everything that does not fit.
#include "model/bind.h"

#include <fmt/format.h>

#include <set>

#include "base/error.h"

namespace fathom::model {

namespace {

using weights::Source;

constexpr TensorRule kCommonRules[] = {
    {Part::kEmbedding, "token_embd.weight", "model.embed_tokens.weight"},
    {Part::kHead, "output.weight", "lm_head.weight"},
    {Part::kLastNorm, "output_norm.weight", "model.norm.weight"},
    {Part::kRopeDivisors, "rope_freqs.weight", ""},
    {Part::kAttnNorm, "blk.{i}.attn_norm.weight", "model.layers.{i}.input_layernorm.weight"},
    {Part::kAttnPostNorm, "blk.{i}.post_attention_norm.weight", ""},
    {Part::kFfnNorm, "blk.{i}.ffn_norm.weight", "model.layers.{i}.post_attention_layernorm.weight"},
    {Part::kFfnPostNorm, "blk.{i}.post_ffw_norm.weight", ""},
    {Part::kQ, "blk.{i}.attn_q.weight", "model.layers.{i}.self_attn.q_proj.weight"},
    {Part::kK, "blk.{i}.attn_k.weight", "model.layers.{i}.self_attn.k_proj.weight"},
    {Part::kV, "blk.{i}.attn_v.weight", "model.layers.{i}.self_attn.v_proj.weight"},
    {Part::kOutput, "blk.{i}.attn_output.weight", "model.layers.{i}.self_attn.o_proj.weight"},
    {Part::kQBias, "blk.{i}.attn_q.bias", "model.layers.{i}.self_attn.q_proj.bias"},
    {Part::kKBias, "blk.{i}.attn_k.bias", "model.layers.{i}.self_attn.k_proj.bias"},
    {Part::kVBias, "blk.{i}.attn_v.bias", "model.layers.{i}.self_attn.v_proj.bias"},
    {Part::kOutputBias, "blk.{i}.attn_output.bias", "model.layers.{i}.self_attn.o_proj.bias"},
    {Part::kQNorm, "blk.{i}.attn_q_norm.weight", "model.layers.{i}.self_attn.q_norm.weight"},
    {Part::kKNorm, "blk.{i}.attn_k_norm.weight", "model.layers.{i}.self_attn.k_norm.weight"},
    {Part::kGate, "blk.{i}.ffn_gate.weight", "model.layers.{i}.mlp.gate_proj.weight"},
    {Part::kUp, "blk.{i}.ffn_up.weight", "model.layers.{i}.mlp.up_proj.weight"},
    {Part::kDown, "blk.{i}.ffn_down.weight", "model.layers.{i}.mlp.down_proj.weight"},
    {Part::kGateBias, "blk.{i}.ffn_gate.bias", "model.layers.{i}.mlp.gate_proj.bias"},
    {Part::kUpBias, "blk.{i}.ffn_up.bias", "model.layers.{i}.mlp.up_proj.bias"},
    {Part::kDownBias, "blk.{i}.ffn_down.bias", "model.layers.{i}.mlp.down_proj.bias"},
};

bool is_per_layer(Part part) {
  return part > Part::kRopeDivisors;
}

// "blk.{i}.x" with the layer put in; names without "{i}" stay as they are.
std::string name_for(std::string_view pattern, int64_t layer) {
  const size_t at = pattern.find("{i}");
  if (at == std::string_view::npos) {
    return std::string(pattern);
  }
  return fmt::format("{}{}{}", pattern.substr(0, at), layer, pattern.substr(at + 3));
}

struct Want {
  bool needed = false;
  std::vector<int64_t> shape;
};

Want want_of_model(Part part, const ModelConfig& config) {
  const int64_t hidden = config.hidden_size;
  switch (part) {
    case Part::kEmbedding:
      return {true, {config.n_vocab, hidden}};
    case Part::kHead:
      return {!config.tied_head, {config.n_vocab, hidden}};
    case Part::kLastNorm:
      return {true, {hidden}};
    default: {
      const RopeOptions& rope = config.ropes.at(0);
      return {rope.file_divisors, {rope.rotary_dim / 2}};
    }
  }
}

Want want_of_layer(Part part, const LayerOptions& o, int64_t hidden) {
  const int64_t q_size = int64_t{o.n_heads} * o.head_dim;
  const int64_t kv_size = int64_t{o.n_kv_heads} * o.head_dim;
  const bool sandwich = o.norm_placement == NormPlacement::kSandwich;
  switch (part) {
    case Part::kAttnNorm:
    case Part::kFfnNorm:
      return {true, {hidden}};
    case Part::kAttnPostNorm:
    case Part::kFfnPostNorm:
      return {sandwich, {hidden}};
    case Part::kQ:
      return {true, {q_size, hidden}};
    case Part::kK:
    case Part::kV:
      return {true, {kv_size, hidden}};
    case Part::kOutput:
      return {true, {hidden, q_size}};
    case Part::kQBias:
      return {o.qkv_bias, {q_size}};
    case Part::kKBias:
    case Part::kVBias:
      return {o.qkv_bias, {kv_size}};
    case Part::kOutputBias:
      return {o.output_bias, {hidden}};
    case Part::kQNorm:
    case Part::kKNorm:
      return {o.qk_norm, {o.head_dim}};
    case Part::kGate:
    case Part::kUp:
      return {true, {o.ffn_size, hidden}};
    case Part::kDown:
      return {true, {hidden, o.ffn_size}};
    case Part::kGateBias:
    case Part::kUpBias:
      return {o.ffn_bias, {o.ffn_size}};
    default:
      return {o.ffn_bias, {hidden}};
  }
}

// Tensors that files carry and no engine needs.
bool is_ignorable(std::string_view name, const ModelConfig& config) {
  return name.ends_with("rotary_emb.inv_freq") ||
         (config.tied_head && (name == "lm_head.weight" || name == "output.weight"));
}

// Collects bindings and complaints.
class Binder {
 public:
  Binder(const weights::ModelFile& file, std::span<const TensorRule> rules) : file_(&file) {
    for (const TensorRule& rule : kCommonRules) {
      patterns_.at(static_cast<size_t>(rule.part)) = pattern_of(rule);
    }
    for (const TensorRule& rule : rules) {
      patterns_.at(static_cast<size_t>(rule.part)) = pattern_of(rule);
    }
  }

  [[nodiscard]] const FileTensor* find(Part part, int64_t layer) const {
    const std::string_view pattern = patterns_.at(static_cast<size_t>(part));
    return pattern.empty() ? nullptr : file_->tensors.find(name_for(pattern, layer));
  }

  const FileTensor* bind(Part part, int64_t layer, const Want& want) {
    if (!want.needed) {
      return nullptr;
    }
    const std::string name = name_for(patterns_.at(static_cast<size_t>(part)), layer);
    const FileTensor* tensor = file_->tensors.find(name);
    if (tensor == nullptr) {
      complain(fmt::format("{}: missing, expected {}", name, format_shape(want.shape)));
      return nullptr;
    }
    used_.insert(name);
    if (tensor->shape != want.shape) {
      complain(fmt::format("{}: found {}, expected {}", name, format_shape(tensor->shape),
                           format_shape(want.shape)));
    } else if (tensor->type >= DType::kI8) {
      complain(fmt::format("{}: type {} is not a weight type", name, name_of(tensor->type)));
    }
    return tensor;
  }

  void report(const ModelConfig& config) {
    for (const auto& [name, tensor] : file_->tensors.tensors()) {
      if (!used_.contains(name) && !is_ignorable(name, config)) {
        complain(fmt::format("{}: {} is no part of this architecture", name,
                             format_shape(tensor.shape)));
      }
    }
    if (n_complaints_ == 0) {
      return;
    }
    const size_t hidden = n_complaints_ - complaints_.size();
    fail(
        ErrorCode::kCorruptFile,
        fmt::format("{}: {} tensors do not fit the architecture '{}': {}{}", file_->metadata.path(),
                    n_complaints_, config.family, fmt::join(complaints_, "; "),
                    hidden > 0 ? fmt::format("; and {} more", hidden) : ""));
  }

 private:
  [[nodiscard]] std::string_view pattern_of(const TensorRule& rule) const {
    return file_->metadata.source() == Source::kGguf ? rule.gguf : rule.hf;
  }

  void complain(std::string text) {
    ++n_complaints_;
    if (complaints_.size() < 20) {
      complaints_.push_back(std::move(text));
    }
  }

  const weights::ModelFile* file_;
  std::array<std::string_view, kNumParts> patterns_;
  std::set<std::string, std::less<>> used_;
  std::vector<std::string> complaints_;
  size_t n_complaints_ = 0;
};

// GGUF metadata says nothing about tied heads, biases and llama3 divisors: the tensor list does.
void read_presence(const Binder& binder, ModelConfig& config) {
  config.tied_head = binder.find(Part::kHead, 0) == nullptr;
  for (RopeOptions& rope : config.ropes) {
    rope.file_divisors = binder.find(Part::kRopeDivisors, 0) != nullptr;
  }
  for (int64_t i = 0; i < config.n_layers; ++i) {
    LayerOptions& layer = config.layers[static_cast<size_t>(i)];
    layer.qkv_bias = binder.find(Part::kQBias, i) != nullptr;
    layer.output_bias = binder.find(Part::kOutputBias, i) != nullptr;
    layer.ffn_bias = binder.find(Part::kDownBias, i) != nullptr;
  }
}

}  // namespace

Bindings bind_tensors(const weights::ModelFile& file, std::span<const TensorRule> rules,
                      ModelConfig& config) {
  Binder binder(file, rules);
  if (file.metadata.source() == Source::kGguf) {
    read_presence(binder, config);
  }
  Bindings bindings;
  bindings.layers.resize(static_cast<size_t>(config.n_layers));
  for (int index = 0; index < kNumParts; ++index) {
    const auto part = static_cast<Part>(index);
    const auto slot = static_cast<size_t>(index);
    if (!is_per_layer(part)) {
      bindings.model.at(slot) = binder.bind(part, 0, want_of_model(part, config));
      continue;
    }
    for (int64_t i = 0; i < config.n_layers; ++i) {
      const LayerOptions& options = config.layers[static_cast<size_t>(i)];
      bindings.layers[static_cast<size_t>(i)].at(slot) =
          binder.bind(part, i, want_of_layer(part, options, config.hidden_size));
    }
  }
  binder.report(config);
  return bindings;
}

}  // namespace fathom::model
