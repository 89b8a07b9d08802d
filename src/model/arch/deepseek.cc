// DeepSeek V2, V3 and R1: latent attention, shared experts, experts chosen from the best groups; V2
// routes by softmax, V3 by sigmoid with a correction for choosing. Source: arXiv 2405.04434,
// 2412.19437.
#include <fmt/format.h>

#include "model/arch/family_keys.h"
#include "model/arch/registry.h"
#include "model/arch/rope_keys.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM"};

// mscale_all_dim of YaRN: scores are stretched by its square, besides what cos and sin carry.
double score_stretch(const ConfigReader& r) {
  for (const std::string_view prefix : {"rope_scaling.", "rope_parameters."}) {
    const auto find = [&](std::string_view name) {
      return r.metadata().find_double(std::string(prefix) + std::string(name)).value_or(0);
    };
    if (const double all_dim = find("mscale_all_dim"); all_dim != 0) {
      return yarn_mscale(find("factor"), all_dim);
    }
  }
  return 1.0;
}

// GGUF keeps 0.1 * mscale_all_dim and takes mscale for the same: cos and sin carry nothing.
double score_stretch_gguf(const ConfigReader& r) {
  const double multiplier = r.real({{}, "rope.scaling.yarn_log_multiplier"}, 0.0);
  return yarn_mscale(r.real({{}, "rope.scaling.factor"}, 1.0), 10.0 * multiplier);
}

ExpertOptions read_experts(const ConfigReader& r, ModelConfig& config) {
  constexpr int64_t kSigmoid = 2;  // expert_gating_func
  const bool sigmoid =
      r.is_gguf() ? r.integer({{}, "expert_gating_func"}, 0) == kSigmoid ||
                        r.has_tensor(fmt::format("blk.{}.exp_probs_b.bias", config.n_layers - 1))
                  : config.family == "DeepseekV3ForCausalLM";
  if (r.is_gguf() && r.find_real({{}, "rope.scaling.yarn_log_multiplier"})) {
    config.ropes.front().magnitude = 1.0;
  }
  if (sigmoid) {
    return sigmoid_experts(r);
  }
  ExpertOptions experts = shared_experts(r);
  experts.router.renormalize = false;
  if (r.text({"topk_method"}, "group_limited_greedy") == "greedy") {
    experts.router.n_groups = 1;
    experts.router.groups_used = 1;
  }
  return experts;
}

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  config.n_extra_layers = r.count({"num_nextn_predict_layers"}, 4096, 0);
  set_latent_attention(config, r);
  if (r.flag({"rope_interleave"}, true)) {
    set_rope_pairs(config);
  }
  const double stretch = r.is_gguf() ? score_stretch_gguf(r) : score_stretch(r);
  for (LayerOptions& layer : config.layers) {
    layer.score_scale *= stretch * stretch;
    layer.qkv_bias = r.flag({"attention_bias"}, false);
    layer.output_bias = layer.qkv_bias;
  }
  const int64_t n_dense = r.integer({"first_k_dense_replace", "leading_dense_block_count"}, 0);
  set_experts(config, read_experts(r, config), [&](int64_t i) { return i < n_dense; });
  return config;
}

}  // namespace

extern const ArchSpec kDeepseek;
const ArchSpec kDeepseek = {"deepseek2", kNames, read_config, {}};

}  // namespace fathom::model
