// StarCoder 2: layer norms, biases, ungated tanh GELU, grouped queries, rope, a window. Source:
// arXiv 2402.19173. GGUF files have lost the window.
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"Starcoder2ForCausalLM"};

constexpr TensorRule kRules[] = {
    {Part::kUp, "blk.{i}.ffn_up.weight", "model.layers.{i}.mlp.c_fc.weight"},
    {Part::kDown, "blk.{i}.ffn_down.weight", "model.layers.{i}.mlp.c_proj.weight"},
};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  set_layer_norms(config, true);
  set_plain_ffn(config);
  const bool bias = r.flag({"use_bias"}, true);
  set_biases(config, bias, bias, bias);
  config.tied_head = r.flag({"tie_word_embeddings"}, true);
  const int64_t window = r.integer({"sliding_window"}, 0);
  set_windows(config, r, window, [](int64_t) { return true; });
  for (LayerOptions& layer : config.layers) {
    layer.hidden.activation = r.activation(r.text({"hidden_act"}, "gelu_pytorch_tanh"));
  }
  return config;
}

}  // namespace

extern const ArchSpec kStarcoder2;
const ArchSpec kStarcoder2 = {"starcoder2", kNames, read_config, kRules};

}  // namespace fathom::model
