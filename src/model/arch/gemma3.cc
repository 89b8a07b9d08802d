// Gemma 3 text: norms before and after each branch with weight 1 + w, qk-norm, embeddings times
// sqrt(hidden), five windowed layers with their own rope base for each full one.
// Source: arXiv 2503.19786. GGUF files store 1 + w, and leave out the pattern and the query scale:
// the released values are taken for them.
#include <algorithm>

#include "model/arch/family_keys.h"
#include "model/arch/registry.h"
#include "model/arch/rope_keys.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"Gemma3ForCausalLM"};

constexpr TensorRule kRules[] = {
    {Part::kFfnNorm, "blk.{i}.ffn_norm.weight",
     "model.layers.{i}.pre_feedforward_layernorm.weight"},
};

constexpr int64_t kReleasedPattern = 6;
constexpr int64_t kLayersOf27B = 62;

// Full layers first, then the windowed ones: another base, never scaled.
std::vector<RopeOptions> read_ropes(const ConfigReader& r, int head_dim) {
  RopeOptions full = read_rope(r, head_dim, "rope_parameters.full_attention.");
  if (!r.metadata().find_double("rope_parameters.full_attention.rope_theta")) {
    full.theta = r.real({"rope_theta", "rope.freq_base"}, 1e6);
  }
  RopeOptions local;
  local.rotary_dim = head_dim;
  local.theta = r.real({"rope_local_base_freq", "rope.freq_base_swa"}, 10000.0);
  if (has_rope_dictionary(r, "rope_parameters.sliding_attention.")) {
    local = read_rope(r, head_dim, "rope_parameters.sliding_attention.");
  }
  return {full, local};
}

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  config.ropes = read_ropes(r, config.layers.front().head_dim);
  set_gemma_basics(config, r);
  set_gemma_query_scale(config, r, kLayersOf27B);
  config.logit_soft_cap = r.limit({"final_logit_softcapping"}, 0.0);
  set_norm_placement(config, NormPlacement::kSandwich);
  set_qk_norm(config, QkNorm::kHead);
  const int64_t pattern = std::max<int64_t>(
      1, r.integer({"sliding_window_pattern|_sliding_window_pattern"}, kReleasedPattern));
  set_windows(config, r, r.integer({"sliding_window", "attention.sliding_window"}, 4096),
              [pattern](int64_t i) { return (i + 1) % pattern != 0; });
  for (LayerOptions& layer : config.layers) {
    layer.rope = layer.window > 0 ? 1 : 0;
    layer.score_soft_cap = r.limit({"attn_logit_softcapping"}, 0.0);
  }
  return config;
}

}  // namespace

extern const ArchSpec kGemma3;
const ArchSpec kGemma3 = {"gemma3", kNames, read_config, kRules};

}  // namespace fathom::model
