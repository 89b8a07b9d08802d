// StarCoder 1: GPT-2 with one head of keys and values and ordinary matrices. Source: arXiv
// 2305.06161.
#include "model/arch/family_keys.h"
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"GPTBigCodeForCausalLM"};

constexpr TensorRule kRules[] = {
    {Part::kEmbedding, "token_embd.weight", "transformer.wte.weight"},
    {Part::kPositions, "position_embd.weight", "transformer.wpe.weight"},
    {Part::kLastNorm, "output_norm.weight", "transformer.ln_f.weight"},
    {Part::kAttnNorm, "blk.{i}.attn_norm.weight", "transformer.h.{i}.ln_1.weight"},
    {Part::kFfnNorm, "blk.{i}.ffn_norm.weight", "transformer.h.{i}.ln_2.weight"},
    {Part::kQ,
     {"blk.{i}.attn_qkv.weight", Layout::kQkvBlocks},
     {"transformer.h.{i}.attn.c_attn.weight", Layout::kQkvGroups},
     3},
    {Part::kOutput, "blk.{i}.attn_output.weight", "transformer.h.{i}.attn.c_proj.weight"},
    {Part::kUp, "blk.{i}.ffn_up.weight", "transformer.h.{i}.mlp.c_fc.weight"},
    {Part::kDown, "blk.{i}.ffn_down.weight", "transformer.h.{i}.mlp.c_proj.weight"},
};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  set_gpt2_basics(config, r, "gelu_pytorch_tanh");
  const bool one_head = r.flag({"multi_query"}, true);
  for (LayerOptions& layer : config.layers) {
    if (!r.is_gguf()) {
      layer.n_kv_heads = one_head ? 1 : layer.n_heads;
    }
    layer.score_scale = r.flag({"scale_attn_weights"}, true) ? layer.score_scale : 1.0;
  }
  return config;
}

}  // namespace

extern const ArchSpec kGptBigcode;
const ArchSpec kGptBigcode = {"starcoder", kNames, read_config, kRules};

}  // namespace fathom::model
