// Gemma 3 text: norms before and after each branch with weight 1 + w, qk-norm, embeddings times
// sqrt(hidden), five windowed layers with their own rope base for each full one.
// Source: arXiv 2503.19786. GGUF files store 1 + w, and leave out the pattern, the local rope base
// and the query scale: the released values are taken for them.
#include <cmath>

#include "model/arch/common.h"
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

using weights::Metadata;
using weights::Source;

constexpr std::string_view kNames[] = {"Gemma3ForCausalLM"};

constexpr TensorRule kRules[] = {
    {Part::kAttnPostNorm, "blk.{i}.post_attention_norm.weight",
     "model.layers.{i}.post_attention_layernorm.weight"},
    {Part::kFfnNorm, "blk.{i}.ffn_norm.weight",
     "model.layers.{i}.pre_feedforward_layernorm.weight"},
    {Part::kFfnPostNorm, "blk.{i}.post_ffw_norm.weight",
     "model.layers.{i}.post_feedforward_layernorm.weight"},
};

constexpr int64_t kReleasedPattern = 6;
constexpr int64_t kLayersOf27B = 62;  // the one size whose query scale is not head_dim^-0.5

// The rotation of the windowed layers: its own base, never scaled.
RopeOptions read_local_rope(const Metadata& md, const RopeOptions& global) {
  RopeOptions local = global;
  local.theta = 10000.0;
  local.scaling = RopeScaling::kNone;
  if (md.source() == Source::kHuggingFace) {
    local.theta = md.find_double("rope_local_base_freq").value_or(local.theta);
    read_hf_rope(md, "rope_parameters.sliding_attention.", local);
    if (!md.contains("rope_parameters.sliding_attention.rope_theta")) {
      local.theta = md.find_double("rope_local_base_freq").value_or(10000.0);
      local.scaling = RopeScaling::kNone;
    }
  }
  return local;
}

double query_scale(const Metadata& md, const ModelConfig& config, const LayerOptions& layer) {
  if (md.source() == Source::kHuggingFace) {
    return 1.0 / std::sqrt(md.find_double("query_pre_attn_scalar").value_or(256.0));
  }
  const double width = config.n_layers == kLayersOf27B
                           ? static_cast<double>(config.hidden_size) / layer.n_heads
                           : static_cast<double>(layer.head_dim);
  return 1.0 / std::sqrt(width);
}

ModelConfig read_config(const Metadata& md) {
  ModelConfig config = read_common_config(md);
  const bool from_gguf = md.source() == Source::kGguf;
  if (from_gguf) {
    config.ropes[0].theta = md.find_double(arch_key(md, "rope.freq_base")).value_or(1e6);
  } else {
    config.ropes[0].theta = 1e6;
    read_hf_rope(md, "rope_parameters.full_attention.", config.ropes[0]);
    config.logit_soft_cap = md.find_double("final_logit_softcapping").value_or(0.0);
    config.tied_head = md.find_bool("tie_word_embeddings").value_or(true);
  }
  config.norm_adds_one = !from_gguf;
  config.embed_scale = std::sqrt(static_cast<double>(config.hidden_size));
  config.ropes.push_back(read_local_rope(md, config.ropes[0]));
  const int64_t window =
      md.find_int(from_gguf ? arch_key(md, "attention.sliding_window") : "sliding_window")
          .value_or(4096);
  int64_t pattern = kReleasedPattern;
  if (!from_gguf) {
    pattern = md.find_int("sliding_window_pattern")
                  .value_or(md.find_int("_sliding_window_pattern").value_or(kReleasedPattern));
  }
  pattern = pattern < 1 ? kReleasedPattern : pattern;
  for (int64_t i = 0; i < config.n_layers; ++i) {
    LayerOptions& layer = config.layers[static_cast<size_t>(i)];
    const bool sliding =
        is_sliding(md, i, [pattern](int64_t index) { return (index + 1) % pattern != 0; });
    layer.norm_placement = NormPlacement::kSandwich;
    layer.qk_norm = true;
    layer.activation =
        from_gguf ? kernels::Activation::kGeluTanh
                  : parse_activation(
                        md, md.find_string("hidden_activation").value_or("gelu_pytorch_tanh"));
    layer.window = sliding ? window : 0;
    layer.rope = sliding ? 1 : 0;
    layer.score_scale = query_scale(md, config, layer);
    layer.score_soft_cap = from_gguf ? 0.0 : md.find_double("attn_logit_softcapping").value_or(0.0);
  }
  return config;
}

}  // namespace

extern const ArchSpec kGemma3;
const ArchSpec kGemma3 = {"gemma3", kNames, read_config, kRules};

}  // namespace fathom::model
