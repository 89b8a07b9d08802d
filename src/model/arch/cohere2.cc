// Command R7B and Command A: Command R with windows on three of four layers; the full layers have
// no rotation. Source: arXiv 2504.00698.
#include <algorithm>

#include "model/arch/family_keys.h"
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"Cohere2ForCausalLM"};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  set_cohere_basics(config, r);
  const int64_t pattern =
      std::max<int64_t>(1, r.integer({"sliding_window_pattern|_sliding_window_pattern"}, 4));
  set_windows(config, r, r.integer({"sliding_window", "attention.sliding_window"}, 4096),
              [pattern](int64_t i) { return (i + 1) % pattern != 0; });
  for (LayerOptions& layer : config.layers) {
    layer.rope = layer.window > 0 ? 0 : -1;
  }
  return config;
}

}  // namespace

extern const ArchSpec kCohere2;
const ArchSpec kCohere2 = {"cohere2", kNames, read_config, {}};

}  // namespace fathom::model
