// Gemma 2: Gemma with norms before and behind each branch, capped scores and logits, a window on
// the even layers and a query scale of its own. Source: arXiv 2408.00118. GGUF leaves out the query
// scale and the pattern: the released values are taken.
#include "model/arch/family_keys.h"
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"Gemma2ForCausalLM"};

constexpr TensorRule kRules[] = {
    {Part::kFfnNorm, "blk.{i}.ffn_norm.weight",
     "model.layers.{i}.pre_feedforward_layernorm.weight"},
};

constexpr int64_t kLayersOf27B = 46;

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  set_gemma_basics(config, r);
  set_gemma_query_scale(config, r, kLayersOf27B);
  config.logit_soft_cap = r.limit({"final_logit_softcapping", "final_logit_softcapping"}, 30.0);
  set_norm_placement(config, NormPlacement::kSandwich);
  set_windows(config, r, r.integer({"sliding_window", "attention.sliding_window"}, 4096),
              [](int64_t i) { return i % 2 == 0; });
  for (LayerOptions& layer : config.layers) {
    layer.score_soft_cap = r.limit({"attn_logit_softcapping", "attn_logit_softcapping"}, 50.0);
  }
  return config;
}

}  // namespace

extern const ArchSpec kGemma2;
const ArchSpec kGemma2 = {"gemma2", kNames, read_config, kRules};

}  // namespace fathom::model
