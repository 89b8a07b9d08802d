// SmolLM3: Llama without rotation in every fourth layer. In no_rope_layers a 1 means that the layer
// has it. Source: the released model, 2025. GGUF files have q and k permuted and leave the list
// out.
#include "model/arch/registry.h"
#include "model/arch/rope_keys.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"SmolLM3ForCausalLM"};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  config.tied_head = r.flag({"tie_word_embeddings"}, true);
  const bool bias = r.flag({"attention_bias"}, false);
  set_biases(config, bias, bias, r.flag({"mlp_bias"}, false));
  if (r.is_gguf()) {
    set_rope_pairs(config);
    config.pairs_from_halves = true;
  }
  if (r.flag({"use_sliding_window"}, false)) {
    set_windows(config, r, r.integer({"sliding_window"}, 0), [](int64_t) { return false; });
  }
  const int64_t interval = r.size({"no_rope_layer_interval"}, 4096, 4);
  const std::vector<int64_t>* rotated = r.integers({"no_rope_layers"});
  for_each_layer(config, [&](int64_t i, LayerOptions& layer) {
    const auto slot = static_cast<size_t>(i);
    const bool listed = rotated != nullptr && slot < rotated->size();
    const bool has_rope = listed ? (*rotated)[slot] != 0 : (i + 1) % interval != 0;
    layer.rope = has_rope ? 0 : -1;
  });
  return config;
}

}  // namespace

extern const ArchSpec kSmollm3;
const ArchSpec kSmollm3 = {"smollm3", kNames, read_config, {}};

}  // namespace fathom::model
