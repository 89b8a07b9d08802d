// GPT-Neo: GPT-2 with separate matrices, unscaled scores and a window on every other layer. Source:
// the released model, 2021.
#include "model/arch/family_keys.h"
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"GPTNeoForCausalLM"};

constexpr TensorRule kRules[] = {
    {Part::kEmbedding, "", "transformer.wte.weight"},
    {Part::kPositions, "", "transformer.wpe.weight"},
    {Part::kLastNorm, "", "transformer.ln_f.weight"},
    {Part::kAttnNorm, "", "transformer.h.{i}.ln_1.weight"},
    {Part::kFfnNorm, "", "transformer.h.{i}.ln_2.weight"},
    {Part::kQ, "", "transformer.h.{i}.attn.attention.q_proj.weight"},
    {Part::kK, "", "transformer.h.{i}.attn.attention.k_proj.weight"},
    {Part::kV, "", "transformer.h.{i}.attn.attention.v_proj.weight"},
    {Part::kOutput, "", "transformer.h.{i}.attn.attention.out_proj.weight"},
    {Part::kUp, "", "transformer.h.{i}.mlp.c_fc.weight"},
    {Part::kDown, "", "transformer.h.{i}.mlp.c_proj.weight"},
};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  set_gpt2_basics(config, r, "gelu_new");
  set_biases(config, false, true, true);
  const int64_t window = r.integer({"window_size"}, 256);
  const std::vector<std::string>* kinds = r.metadata().find_strings("attention_layers");
  for_each_layer(config, [&](int64_t i, LayerOptions& layer) {
    const auto slot = static_cast<size_t>(i);
    const bool listed = kinds != nullptr && slot < kinds->size();
    const bool local = listed ? (*kinds)[slot] == "local" : i % 2 == 1;
    layer.window = local ? window : 0;
    layer.score_scale = 1.0;
  });
  return config;
}

}  // namespace

extern const ArchSpec kGptNeo;
const ArchSpec kGptNeo = {"", kNames, read_config, kRules};

}  // namespace fathom::model
