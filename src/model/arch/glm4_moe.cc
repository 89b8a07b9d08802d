// GLM-4.5: experts routed by sigmoid with a correction for choosing, a shared expert, dense first
// layers, rotation in halves of half of each head, optional qk-norm. Source: arXiv 2508.06471. GGUF
// counts the prediction layers among the blocks.
#include "model/arch/family_keys.h"
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"Glm4MoeForCausalLM"};

constexpr TensorRule kRules[] = {
    {Part::kFfnNorm, "blk.{i}.post_attention_norm.weight",
     "model.layers.{i}.post_attention_layernorm.weight"},
};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  config.n_extra_layers = r.count({"num_nextn_predict_layers", "nextn_predict_layers"}, 4096, 0);
  if (r.is_gguf() && config.n_extra_layers > 0 && config.n_extra_layers < config.n_layers) {
    config.n_layers -= config.n_extra_layers;
    config.layers.resize(static_cast<size_t>(config.n_layers));
  }
  set_biases(config, r.flag({"attention_bias"}, false), false, false);
  const bool qk_norm =
      r.is_gguf() ? r.has_tensor("blk.0.attn_q_norm.weight") : r.flag({"use_qk_norm"}, false);
  set_qk_norm(config, qk_norm ? QkNorm::kHead : QkNorm::kNone);
  const int64_t n_dense = r.integer({"first_k_dense_replace", "leading_dense_block_count"}, 1);
  set_experts(config, sigmoid_experts(r), [&](int64_t i) { return i < n_dense; });
  return config;
}

}  // namespace

extern const ArchSpec kGlm4Moe;
const ArchSpec kGlm4Moe = {"glm4moe", kNames, read_config, kRules};

}  // namespace fathom::model
