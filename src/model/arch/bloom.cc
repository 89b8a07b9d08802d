// BLOOM: ALiBi, a norm right behind the embedding, fused per-head q k v, tanh GELU, tied head.
// Source: arXiv 2211.05100.
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"BloomForCausalLM"};

constexpr TensorRule kRules[] = {
    {Part::kEmbedding, "token_embd.weight", "transformer.word_embeddings.weight"},
    {Part::kEmbedNorm, "token_embd_norm.weight", "transformer.word_embeddings_layernorm.weight"},
    {Part::kLastNorm, "output_norm.weight", "transformer.ln_f.weight"},
    {Part::kAttnNorm, "blk.{i}.attn_norm.weight", "transformer.h.{i}.input_layernorm.weight"},
    {Part::kFfnNorm, "blk.{i}.ffn_norm.weight",
     "transformer.h.{i}.post_attention_layernorm.weight"},
    {Part::kQ,
     {"blk.{i}.attn_qkv.weight", Layout::kQkvBlocks},
     {"transformer.h.{i}.self_attention.query_key_value.weight", Layout::kQkvHeads},
     3},
    {Part::kOutput, "blk.{i}.attn_output.weight", "transformer.h.{i}.self_attention.dense.weight"},
    {Part::kUp, "blk.{i}.ffn_up.weight", "transformer.h.{i}.mlp.dense_h_to_4h.weight"},
    {Part::kDown, "blk.{i}.ffn_down.weight", "transformer.h.{i}.mlp.dense_4h_to_h.weight"},
};

ModelConfig read_config(const ConfigReader& r) {
  if (r.flag({"apply_residual_connection_post_layernorm"}, false)) {
    r.refuse("apply_residual_connection_post_layernorm");
  }
  ModelConfig config = r.common();
  set_alibi(config, alibi_slopes(config.layers.front().n_heads));
  set_layer_norms(config, true);
  config.embed_norm = true;
  set_plain_ffn(config);
  set_biases(config, true, true, true);
  config.tied_head = r.flag({"tie_word_embeddings"}, true);
  for (LayerOptions& layer : config.layers) {
    layer.ffn_size = r.is_gguf() ? layer.ffn_size : 4 * config.hidden_size;
    layer.hidden.activation = kernels::Activation::kGeluTanh;
  }
  return config;
}

}  // namespace

extern const ArchSpec kBloom;
const ArchSpec kBloom = {"bloom", kNames, read_config, kRules};

}  // namespace fathom::model
