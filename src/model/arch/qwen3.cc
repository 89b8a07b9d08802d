// Qwen3 dense: Llama with an RMS norm per head on q and k before the rotation, and no bias unless
// config.json asks for one. Source: arXiv 2505.09388, section 2.
#include "model/arch/common.h"
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"Qwen3ForCausalLM"};

ModelConfig read_config(const weights::Metadata& md) {
  ModelConfig config = read_common_config(md);
  const bool from_gguf = md.source() == weights::Source::kGguf;
  const bool bias = !from_gguf && md.find_bool("attention_bias").value_or(false);
  const bool windowed = !from_gguf && md.find_bool("use_sliding_window").value_or(false);
  const int64_t window = windowed ? md.find_int("sliding_window").value_or(4096) : 0;
  const int64_t first = windowed ? md.find_int("max_window_layers").value_or(28) : 0;
  for (int64_t i = 0; i < config.n_layers; ++i) {
    LayerOptions& layer = config.layers[static_cast<size_t>(i)];
    layer.qk_norm = true;
    layer.qkv_bias = bias;
    layer.output_bias = bias;
    const bool sliding = is_sliding(md, i, [first](int64_t index) { return index >= first; });
    layer.window = sliding ? window : 0;
  }
  return config;
}

}  // namespace

extern const ArchSpec kQwen3;
const ArchSpec kQwen3 = {"qwen3", kNames, read_config, {}};

}  // namespace fathom::model
