// GPT-2: learned positions, layer norms, biases everywhere, ungated tanh GELU, tied head; matrices
// stored [in, out]. Source: Radford et al. 2019.
#include "model/arch/family_keys.h"
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"GPT2LMHeadModel"};

constexpr TensorRule kRules[] = {
    {Part::kEmbedding, "token_embd.weight", "transformer.wte.weight"},
    {Part::kPositions, "position_embd.weight", "transformer.wpe.weight"},
    {Part::kLastNorm, "output_norm.weight", "transformer.ln_f.weight"},
    {Part::kAttnNorm, "blk.{i}.attn_norm.weight", "transformer.h.{i}.ln_1.weight"},
    {Part::kFfnNorm, "blk.{i}.ffn_norm.weight", "transformer.h.{i}.ln_2.weight"},
    {Part::kQ,
     {"blk.{i}.attn_qkv.weight", Layout::kQkvBlocks},
     {"transformer.h.{i}.attn.c_attn.weight", Layout::kQkvBlocks, true},
     3},
    {Part::kOutput,
     "blk.{i}.attn_output.weight",
     {"transformer.h.{i}.attn.c_proj.weight", Layout::kPlain, true}},
    {Part::kUp,
     "blk.{i}.ffn_up.weight",
     {"transformer.h.{i}.mlp.c_fc.weight", Layout::kPlain, true}},
    {Part::kDown,
     "blk.{i}.ffn_down.weight",
     {"transformer.h.{i}.mlp.c_proj.weight", Layout::kPlain, true}},
};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  set_gpt2_basics(config, r, "gelu_new");
  const bool scaled = r.flag({"scale_attn_weights"}, true);
  const bool by_layer = r.flag({"scale_attn_by_inverse_layer_idx"}, false);
  for_each_layer(config, [&](int64_t i, LayerOptions& layer) {
    layer.score_scale =
        (scaled ? layer.score_scale : 1.0) / (by_layer ? static_cast<double>(i + 1) : 1.0);
  });
  return config;
}

}  // namespace

extern const ArchSpec kGpt2;
const ArchSpec kGpt2 = {"gpt2", kNames, read_config, kRules};

}  // namespace fathom::model
