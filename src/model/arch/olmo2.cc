// OLMo 2 and 3: norms on the branches' outputs only, a qk-norm over all heads at once; OLMo 3 has
// windows on three of four layers and scales only the full layers' rotation. Source: arXiv
// 2501.00656.
#include "model/arch/registry.h"
#include "model/arch/rope_keys.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"Olmo2ForCausalLM", "Olmo3ForCausalLM"};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  set_norm_placement(config, NormPlacement::kPost);
  set_qk_norm(config, QkNorm::kWide);
  const bool bias = r.flag({"attention_bias"}, false);
  set_biases(config, bias, bias, false);
  const int64_t window = r.integer({"sliding_window", "attention.sliding_window"}, 0);
  set_windows(config, r, window, [](int64_t i) { return (i + 1) % 4 != 0; });
  if (window == 0) {
    return config;
  }
  const int head_dim = config.layers.front().head_dim;
  if (has_rope_dictionary(r, "rope_parameters.full_attention.")) {
    config.ropes.front() = read_rope(r, head_dim, "rope_parameters.full_attention.");
  }
  RopeOptions local;
  local.rotary_dim = head_dim;
  local.theta = r.real({"rope_parameters.sliding_attention.rope_theta", "rope.freq_base_swa"},
                       config.ropes.front().theta);
  config.ropes.push_back(local);
  for (LayerOptions& layer : config.layers) {
    layer.rope = layer.window > 0 ? 1 : 0;
  }
  return config;
}

}  // namespace

extern const ArchSpec kOlmo2;
const ArchSpec kOlmo2 = {"olmo2", kNames, read_config, {}};

}  // namespace fathom::model
