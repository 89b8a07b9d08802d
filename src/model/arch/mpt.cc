// MPT: ALiBi with slopes of its own, no biases, fused q|k|v optionally clamped, exact GELU, tied
// head. Source: the released models, 2023.
#include <algorithm>

#include "base/det_math.h"
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"MPTForCausalLM", "MptForCausalLM"};

constexpr TensorRule kRules[] = {
    {Part::kEmbedding, "token_embd.weight", "transformer.wte.weight"},
    {Part::kLastNorm, "output_norm.weight", "transformer.norm_f.weight"},
    {Part::kAttnNorm, "blk.{i}.attn_norm.weight", "transformer.blocks.{i}.norm_1.weight"},
    {Part::kFfnNorm, "blk.{i}.ffn_norm.weight", "transformer.blocks.{i}.norm_2.weight"},
    {Part::kQ,
     {"blk.{i}.attn_qkv.weight", Layout::kQkvBlocks},
     {"transformer.blocks.{i}.attn.Wqkv.weight", Layout::kQkvBlocks},
     3},
    {Part::kOutput, "blk.{i}.attn_output.weight", "transformer.blocks.{i}.attn.out_proj.weight"},
    {Part::kUp, "blk.{i}.ffn_up.weight", "transformer.blocks.{i}.ffn.up_proj.weight"},
    {Part::kDown, "blk.{i}.ffn_down.weight", "transformer.blocks.{i}.ffn.down_proj.weight"},
};

// 2^(-max k / m) for m = the next power of two; without one: every second first.
std::vector<float> mpt_slopes(int n_heads, double bias_max) {
  int power = 1;
  while (power < n_heads) {
    power *= 2;
  }
  std::vector<float> all;
  for (int k = 1; k <= power; ++k) {
    all.push_back(static_cast<float>(1.0 / det_pow(2.0, k * bias_max / power)));
  }
  if (power == n_heads) {
    return all;
  }
  std::vector<float> slopes;
  for (const size_t start : {size_t{1}, size_t{0}}) {
    for (size_t i = start; i < all.size(); i += 2) {
      slopes.push_back(all[i]);
    }
  }
  slopes.resize(static_cast<size_t>(n_heads));
  return slopes;
}

ModelConfig read_config(const ConfigReader& r) {
  if (!r.flag({"attn_config.alibi"}, true) || r.flag({"attn_config.qk_ln"}, false)) {
    r.refuse("MPT without ALiBi or with qk_ln");
  }
  ModelConfig config = r.common();
  set_layer_norms(config, false);
  set_plain_ffn(config);
  config.tied_head = r.flag({"tie_word_embeddings"}, true);
  config.clip_qkv = r.limit({"attn_config.clip_qkv", "attention.clamp_kqv"}, 0.0);
  config.logit_scale = r.factor({"logit_scale"}, 1.0);
  const double bias_max =
      r.within({"attn_config.alibi_bias_max", "attention.max_alibi_bias"}, {0, 19}, 8.0);
  set_alibi(config, mpt_slopes(config.layers.front().n_heads, bias_max));
  for (LayerOptions& layer : config.layers) {
    if (!r.is_gguf()) {
      layer.ffn_size = 4 * config.hidden_size;  // the reference ignores expansion_ratio
    }
    layer.score_scale = r.factor({"attn_config.softmax_scale"}, layer.score_scale);
    layer.hidden.activation = kernels::Activation::kGeluErf;
  }
  return config;
}

}  // namespace

extern const ArchSpec kMpt;
const ArchSpec kMpt = {"mpt", kNames, read_config, kRules};

}  // namespace fathom::model
