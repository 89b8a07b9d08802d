// OPT: learned positions from row 2 on, ReLU, biases everywhere, tied head; the 350M model has its
// norms behind the sums, no last norm, and a narrower embedding. Source: arXiv 2205.01068.
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"OPTForCausalLM"};

constexpr TensorRule kRules[] = {
    {Part::kEmbedding, "", "model.decoder.embed_tokens.weight"},
    {Part::kPositions, "", "model.decoder.embed_positions.weight"},
    {Part::kProjectIn, "", "model.decoder.project_in.weight"},
    {Part::kProjectOut, "", "model.decoder.project_out.weight"},
    {Part::kLastNorm, "", "model.decoder.final_layer_norm.weight"},
    {Part::kAttnNorm, "", "model.decoder.layers.{i}.self_attn_layer_norm.weight"},
    {Part::kAttnPostNorm, "", "model.decoder.layers.{i}.self_attn_layer_norm.weight"},
    {Part::kFfnNorm, "", "model.decoder.layers.{i}.final_layer_norm.weight"},
    {Part::kFfnPostNorm, "", "model.decoder.layers.{i}.final_layer_norm.weight"},
    {Part::kQ, "", "model.decoder.layers.{i}.self_attn.q_proj.weight"},
    {Part::kK, "", "model.decoder.layers.{i}.self_attn.k_proj.weight"},
    {Part::kV, "", "model.decoder.layers.{i}.self_attn.v_proj.weight"},
    {Part::kOutput, "", "model.decoder.layers.{i}.self_attn.out_proj.weight"},
    {Part::kUp, "", "model.decoder.layers.{i}.fc1.weight"},
    {Part::kDown, "", "model.decoder.layers.{i}.fc2.weight"},
};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  set_learned_positions(config, 2);
  set_layer_norms(config, true);
  config.norm_weight = r.flag({"layer_norm_elementwise_affine"}, true);
  config.norm_bias = config.norm_weight;
  config.norm_eps = 1e-5;
  set_plain_ffn(config);
  const bool bias = r.flag({"enable_bias"}, true);
  set_biases(config, bias, bias, bias);
  config.tied_head = r.flag({"tie_word_embeddings"}, true);
  config.embed_size = r.size({"word_embed_proj_dim"}, int64_t{1} << 24, config.hidden_size);
  const bool norm_before = r.flag({"do_layer_norm_before"}, true);
  config.last_norm = norm_before && !r.flag({"_remove_final_layer_norm"}, false);
  if (!norm_before) {
    set_norm_placement(config, NormPlacement::kAfterSum);
  }
  return config;
}

}  // namespace

extern const ArchSpec kOpt;
const ArchSpec kOpt = {"", kNames, read_config, kRules};

}  // namespace fathom::model
