// Nemotron 3 and 4, Minitron: layer norms with weight 1 + w and a bias, ungated squared ReLU,
// rotation of half of each head. Source: arXiv 2402.16819. GGUF files store 1 + w.
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"NemotronForCausalLM"};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  set_layer_norms(config, true);
  config.norm_adds_one = !r.is_gguf();
  set_plain_ffn(config);
  const bool bias = r.flag({"attention_bias"}, false);
  set_biases(config, bias, bias, r.flag({"mlp_bias"}, false));
  for (LayerOptions& layer : config.layers) {
    layer.hidden.activation = r.activation(r.text({"hidden_act"}, "relu2"));
  }
  return config;
}

}  // namespace

extern const ArchSpec kNemotron;
const ArchSpec kNemotron = {"nemotron", kNames, read_config, {}};

}  // namespace fathom::model
