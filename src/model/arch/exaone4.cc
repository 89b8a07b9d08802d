// EXAONE 4: norms on the branches' outputs only, qk-norm per head; the 32B model has windows on
// three of four layers and rotates only there. Source: arXiv 2507.11407.
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"Exaone4ForCausalLM"};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  set_norm_placement(config, NormPlacement::kPost);
  set_qk_norm(config, QkNorm::kHead);
  const int64_t window = r.integer({"sliding_window", "attention.sliding_window"}, 0);
  const std::vector<int64_t>* listed = r.integers({{}, "attention.sliding_window_pattern"});
  const int64_t pattern = r.is_gguf() ? 4 : r.size({"sliding_window_pattern"}, 4096, 4);
  set_windows(config, r, window, [&](int64_t i) {
    const auto slot = static_cast<size_t>(i);
    return listed != nullptr && slot < listed->size() ? (*listed)[slot] != 0
                                                      : (i + 1) % pattern != 0;
  });
  for (LayerOptions& layer : config.layers) {
    layer.rope = window == 0 || layer.window > 0 ? 0 : -1;
  }
  return config;
}

}  // namespace

extern const ArchSpec kExaone4;
const ArchSpec kExaone4 = {"exaone4", kNames, read_config, {}};

}  // namespace fathom::model
