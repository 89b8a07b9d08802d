// Falcon in its three forms: multi-query with one norm (7B), grouped with two (40B, 180B), serial
// with ALiBi (RW). Fused q k v lie per group of KV heads in all of them. Source: arXiv 2311.16867.
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"FalconForCausalLM", "RWForCausalLM"};

constexpr TensorRule kRules[] = {
    {Part::kEmbedding, "token_embd.weight", "transformer.word_embeddings.weight"},
    {Part::kLastNorm, "output_norm.weight", "transformer.ln_f.weight"},
    {Part::kAttnNorm, "blk.{i}.attn_norm_2.weight|blk.{i}.attn_norm.weight",
     "transformer.h.{i}.ln_attn.weight|transformer.h.{i}.input_layernorm.weight"},
    {Part::kFfnNorm, "blk.{i}.attn_norm.weight",
     "transformer.h.{i}.ln_mlp.weight|transformer.h.{i}.post_attention_layernorm.weight"},
    {Part::kQ,
     {"blk.{i}.attn_qkv.weight", Layout::kQkvBlocks},
     {"transformer.h.{i}.self_attention.query_key_value.weight", Layout::kQkvGroups},
     3},
    {Part::kOutput, "blk.{i}.attn_output.weight", "transformer.h.{i}.self_attention.dense.weight"},
    {Part::kUp, "blk.{i}.ffn_up.weight", "transformer.h.{i}.mlp.dense_h_to_4h.weight"},
    {Part::kDown, "blk.{i}.ffn_down.weight", "transformer.h.{i}.mlp.dense_4h_to_h.weight"},
};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  set_layer_norms(config, true);
  set_plain_ffn(config);
  const bool bias = r.flag({"bias"}, false);
  set_biases(config, bias, bias, bias);
  config.tied_head = r.flag({"tie_word_embeddings"}, true);
  const bool grouped = r.flag({"new_decoder_architecture"}, false);
  const bool two_norms = r.is_gguf() ? r.has_tensor("blk.0.attn_norm_2.weight")
                                     : r.integer({"num_ln_in_parallel_attn"}, grouped ? 2 : 1) == 2;
  if (grouped || r.flag({"parallel_attn"}, true)) {
    set_parallel(config, two_norms);
  }
  const bool one_head = !grouped && r.flag({"multi_query"}, true);
  for (LayerOptions& layer : config.layers) {
    layer.n_kv_heads = one_head && !r.is_gguf() ? 1 : layer.n_kv_heads;
    layer.hidden.activation = r.activation(r.text({"activation"}, "gelu"));
  }
  if (r.flag({"alibi"}, false)) {
    set_alibi(config, alibi_slopes(config.layers.front().n_heads));
    for (float& slope : config.alibi_slopes) {  // the sum of score and bias is divided
      slope *= static_cast<float>(config.layers.front().score_scale);
    }
  }
  return config;
}

}  // namespace

extern const ArchSpec kFalcon;
const ArchSpec kFalcon = {"falcon", kNames, read_config, kRules};

}  // namespace fathom::model
