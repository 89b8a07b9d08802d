// What the members of one family share: the Gemmas, the Qwens, the Granites, the Coheres, what came
// from GPT-2 and what came from DeepSeek.
// Called by model/arch/*.cc of those families. Read next: model/arch/config_reader.h.
#pragma once

#include <string_view>

#include "model/arch/config_reader.h"

namespace fathom::model {

// Norms with weight 1 + w (GGUF stores the sum), embeddings times sqrt(hidden), tied head, gated
// tanh GELU (old config files say "gelu" and mean it), biases by attention_bias.
void set_gemma_basics(ModelConfig& config, const ConfigReader& reader);

// query_pre_attn_scalar^-0.5. GGUF leaves it out: head_dim, except in the model of 27 billion
// weights, known by its number of layers.
void set_gemma_query_scale(ModelConfig& config, const ConfigReader& reader, int64_t layers_of_27b);

// use_sliding_window: the layers from max_window_layers on.
void set_qwen_windows(ModelConfig& config, const ConfigReader& reader);

// Experts in the layers that mlp_only_layers and decoder_sparse_step leave to them.
void set_qwen_experts(ModelConfig& config, const ConfigReader& reader,
                      const ExpertOptions& experts);

// Multipliers of embeddings, branches, scores and logits; biases. GGUF files have q and k permuted.
void set_granite_basics(ModelConfig& config, const ConfigReader& reader);

// Parallel branches of one layer norm without bias, rotation in pairs, logits times a factor, tied
// head, biases by attention_bias.
void set_cohere_basics(ModelConfig& config, const ConfigReader& reader);

// Learned positions, layer norms with bias, ungated feed-forwards, biases on all matrices, tied
// head; the activation of files that name none.
void set_gpt2_basics(ModelConfig& config, const ConfigReader& reader, std::string_view activation);

// Latents in place of full keys and values; head sizes, score scale and rope follow from them.
void set_latent_attention(ModelConfig& config, const ConfigReader& reader);

// Routed experts with shared ones beside them; groups scored by their best member.
ExpertOptions shared_experts(const ConfigReader& reader);

// The same, routed by sigmoid with a correction for choosing; groups scored by their two best.
ExpertOptions sigmoid_experts(const ConfigReader& reader);

}  // namespace fathom::model
