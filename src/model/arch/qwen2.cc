// Qwen2 and Qwen2.5 dense: Llama with a bias on q, k and v, never on o; an optional window on the
// upper layers. Source: arXiv 2407.10671.
#include "model/arch/common.h"
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"Qwen2ForCausalLM"};

ModelConfig read_config(const weights::Metadata& md) {
  ModelConfig config = read_common_config(md);
  if (md.source() == weights::Source::kGguf) {
    return config;
  }
  const bool windowed = md.find_bool("use_sliding_window").value_or(false);
  const int64_t window = windowed ? md.find_int("sliding_window").value_or(4096) : 0;
  const int64_t first = md.find_int("max_window_layers").value_or(28);
  for (int64_t i = 0; i < config.n_layers; ++i) {
    LayerOptions& layer = config.layers[static_cast<size_t>(i)];
    layer.qkv_bias = true;
    const bool sliding = is_sliding(md, i, [first](int64_t index) { return index >= first; });
    layer.window = sliding ? window : 0;
  }
  return config;
}

}  // namespace

extern const ArchSpec kQwen2;
const ArchSpec kQwen2 = {"qwen2", kNames, read_config, {}};

}  // namespace fathom::model
