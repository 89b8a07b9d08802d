// GPT-NeoX and Pythia: parallel branches with two norms of the same x, fused per-head q k v,
// rotation of a part of each head. Source: arXiv 2204.06745.
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"GPTNeoXForCausalLM"};

constexpr TensorRule kRules[] = {
    {Part::kEmbedding, "token_embd.weight", "gpt_neox.embed_in.weight"},
    {Part::kLastNorm, "output_norm.weight", "gpt_neox.final_layer_norm.weight"},
    {Part::kHead, "output.weight", "embed_out.weight"},
    {Part::kAttnNorm, "blk.{i}.attn_norm.weight", "gpt_neox.layers.{i}.input_layernorm.weight"},
    {Part::kFfnNorm, "blk.{i}.ffn_norm.weight",
     "gpt_neox.layers.{i}.post_attention_layernorm.weight"},
    {Part::kQ,
     {"blk.{i}.attn_qkv.weight", Layout::kQkvBlocks},
     {"gpt_neox.layers.{i}.attention.query_key_value.weight", Layout::kQkvHeads},
     3},
    {Part::kOutput, "blk.{i}.attn_output.weight", "gpt_neox.layers.{i}.attention.dense.weight"},
    {Part::kUp, "blk.{i}.ffn_up.weight", "gpt_neox.layers.{i}.mlp.dense_h_to_4h.weight"},
    {Part::kDown, "blk.{i}.ffn_down.weight", "gpt_neox.layers.{i}.mlp.dense_4h_to_h.weight"},
};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  set_layer_norms(config, true);
  set_plain_ffn(config);
  const bool bias = r.flag({"attention_bias"}, true);
  set_biases(config, bias, bias, true);
  if (r.flag({"use_parallel_residual", "use_parallel_residual"}, true)) {
    set_parallel(config, true);
  }
  for (LayerOptions& layer : config.layers) {
    layer.hidden.activation = r.activation(r.text({"hidden_act"}, "gelu"));
  }
  return config;
}

}  // namespace

extern const ArchSpec kGptNeox;
const ArchSpec kGptNeox = {"gptneox", kNames, read_config, kRules};

}  // namespace fathom::model
