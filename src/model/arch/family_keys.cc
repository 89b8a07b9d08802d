// Keys that a family's releases have in common.
#include "model/arch/family_keys.h"

#include <algorithm>
#include <cmath>

#include "model/arch/rope_keys.h"

namespace fathom::model {

void set_gemma_basics(ModelConfig& config, const ConfigReader& reader) {
  config.norm_adds_one = !reader.is_gguf();
  config.embed_scale = std::sqrt(static_cast<double>(config.hidden_size));
  config.tied_head = reader.flag({"tie_word_embeddings"}, true);
  const bool bias = reader.flag({"attention_bias"}, false);
  set_biases(config, bias, bias, false);
  for (LayerOptions& layer : config.layers) {
    layer.hidden.activation =
        reader.activation(reader.text({"hidden_activation"}, "gelu_pytorch_tanh"));
  }
}

void set_gemma_query_scale(ModelConfig& config, const ConfigReader& reader, int64_t layers_of_27b) {
  for (LayerOptions& layer : config.layers) {
    double width = reader.factor({"query_pre_attn_scalar"}, 256.0);
    if (reader.is_gguf()) {
      width = config.n_layers == layers_of_27b
                  ? static_cast<double>(config.hidden_size) / layer.n_heads
                  : static_cast<double>(layer.head_dim);
    }
    layer.score_scale = 1.0 / std::sqrt(width);
  }
}

void set_qwen_windows(ModelConfig& config, const ConfigReader& reader) {
  if (reader.flag({"use_sliding_window"}, false)) {
    const int64_t first = reader.integer({"max_window_layers"}, 28);
    set_windows(config, reader, reader.integer({"sliding_window"}, 4096),
                [first](int64_t i) { return i >= first; });
  }
}

void set_qwen_experts(ModelConfig& config, const ConfigReader& reader,
                      const ExpertOptions& experts) {
  const int64_t step = reader.size({"decoder_sparse_step"}, 4096, 1);
  const std::vector<int64_t>* dense = reader.integers({"mlp_only_layers"});
  set_experts(config, experts, [&](int64_t i) {
    return (i + 1) % step != 0 ||
           (dense != nullptr && std::ranges::find(*dense, i) != dense->end());
  });
}

void set_granite_basics(ModelConfig& config, const ConfigReader& reader) {
  config.embed_scale = reader.factor({"embedding_multiplier", "embedding_scale"}, 1.0);
  config.residual_scale = reader.factor({"residual_multiplier", "residual_scale"}, 1.0);
  config.logit_scale = 1.0 / reader.factor({"logits_scaling", "logit_scale"}, 1.0);
  const bool bias = reader.flag({"attention_bias"}, false);
  set_biases(config, bias, bias, reader.flag({"mlp_bias"}, false));
  for (LayerOptions& layer : config.layers) {
    layer.score_scale = reader.factor({"attention_multiplier", "attention.scale"}, 1.0);
  }
  if (reader.is_gguf()) {
    set_rope_pairs(config);
    config.pairs_from_halves = true;
  }
}

void set_cohere_basics(ModelConfig& config, const ConfigReader& reader) {
  set_layer_norms(config, false);
  set_parallel(config, false);
  set_rope_pairs(config);
  config.tied_head = reader.flag({"tie_word_embeddings"}, true);
  config.logit_scale = reader.factor({"logit_scale", "logit_scale"}, 0.0625);
  const bool bias = reader.flag({"attention_bias"}, false);
  set_biases(config, bias, bias, false);
}

void set_gpt2_basics(ModelConfig& config, const ConfigReader& reader, std::string_view activation) {
  set_learned_positions(config, 0);
  set_layer_norms(config, true);
  set_plain_ffn(config);
  set_biases(config, true, true, true);
  config.tied_head = reader.flag({"tie_word_embeddings"}, true);
  for (LayerOptions& layer : config.layers) {
    layer.hidden.activation = reader.activation(reader.text({"activation_function"}, activation));
  }
}

void set_latent_attention(ModelConfig& config, const ConfigReader& reader) {
  constexpr int64_t kMost = 1 << 16;
  LatentOptions latent;
  latent.q_rank =
      static_cast<int>(reader.count({"q_lora_rank", "attention.q_lora_rank"}, kMost, 0));
  latent.kv_rank = static_cast<int>(reader.size({"kv_lora_rank", "attention.kv_lora_rank"}, kMost));
  latent.rope_dim =
      static_cast<int>(reader.size({"qk_rope_head_dim", "rope.dimension_count"}, kMost));
  int64_t value_dim = 0;  // some GGUF files leave it to the tensors
  if (const FileTensor* output = reader.find_tensor("blk.0.attn_output.weight")) {
    value_dim = output->n_cols() / config.layers.front().n_heads;
  }
  constexpr Key kValueDim = {"v_head_dim", "attention.value_length_mla|attention.value_length"};
  latent.value_dim = static_cast<int>(value_dim > 0 ? reader.size(kValueDim, kMost, value_dim)
                                                    : reader.size(kValueDim, kMost));
  if (reader.is_gguf()) {
    const int64_t key_dim =
        reader.size({{}, "attention.key_length_mla|attention.key_length"}, kMost);
    latent.nope_dim = static_cast<int>(key_dim) - latent.rope_dim;
  } else {
    latent.nope_dim = static_cast<int>(reader.size({"qk_nope_head_dim"}, kMost));
  }
  for (LayerOptions& layer : config.layers) {
    layer.latent = latent;
    layer.n_kv_heads = layer.n_heads;
    layer.head_dim = latent.nope_dim + latent.rope_dim;
    layer.score_scale = 1.0 / std::sqrt(static_cast<double>(std::max(1, layer.head_dim)));
  }
  config.ropes = {read_rope(reader, latent.rope_dim, "rope_parameters.")};
}

ExpertOptions shared_experts(const ConfigReader& reader) {
  ExpertOptions experts = reader.experts();
  const int64_t n_shared = reader.count({"n_shared_experts", "expert_shared_count"}, 4096, 0);
  experts.shared_ffn_size = n_shared * experts.ffn_size;
  experts.router.group_top = 1;
  return experts;
}

ExpertOptions sigmoid_experts(const ConfigReader& reader) {
  ExpertOptions experts = shared_experts(reader);
  experts.router.kind = ops::RouterKind::kSigmoid;
  experts.router.renormalize = reader.flag({"norm_topk_prob", "expert_weights_norm"}, true);
  experts.router.group_top = 2;
  experts.correction_bias = true;
  return experts;
}

}  // namespace fathom::model
