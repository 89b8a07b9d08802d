// GPT-J: parallel branches of one layer norm, rotation in pairs of a part of each head, bias on the
// feed-forward and the head only. Source: the released model, 2021.
#include "model/arch/registry.h"
#include "model/arch/rope_keys.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"GPTJForCausalLM"};

constexpr TensorRule kRules[] = {
    {Part::kEmbedding, "", "transformer.wte.weight"},
    {Part::kLastNorm, "", "transformer.ln_f.weight"},
    {Part::kAttnNorm, "", "transformer.h.{i}.ln_1.weight"},
    {Part::kQ, "", "transformer.h.{i}.attn.q_proj.weight"},
    {Part::kK, "", "transformer.h.{i}.attn.k_proj.weight"},
    {Part::kV, "", "transformer.h.{i}.attn.v_proj.weight"},
    {Part::kOutput, "", "transformer.h.{i}.attn.out_proj.weight"},
    {Part::kUp, "", "transformer.h.{i}.mlp.fc_in.weight"},
    {Part::kDown, "", "transformer.h.{i}.mlp.fc_out.weight"},
};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  set_layer_norms(config, true);
  set_parallel(config, false);
  set_plain_ffn(config);
  set_biases(config, false, false, true);
  config.head_bias = true;
  RopeOptions& rope = config.ropes.front();
  rope.rotary_dim = static_cast<int>(r.size({"rotary_dim"}, 4096, rope.rotary_dim));
  set_rope_pairs(config);
  for (LayerOptions& layer : config.layers) {
    layer.hidden.activation = r.activation(r.text({"activation_function"}, "gelu_new"));
  }
  return config;
}

}  // namespace

extern const ArchSpec kGptj;
const ArchSpec kGptj = {"", kNames, read_config, kRules};

}  // namespace fathom::model
