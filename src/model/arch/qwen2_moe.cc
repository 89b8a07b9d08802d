// Qwen1.5-MoE and Qwen2-MoE: Qwen2 with routed experts, whose weights are not renormalized, and a
// shared expert weighed by a sigmoid. Source: arXiv 2407.10671, section 2.2.2.
#include "model/arch/family_keys.h"
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"Qwen2MoeForCausalLM"};

constexpr TensorRule kRules[] = {
    {Part::kSharedGate, "blk.{i}.ffn_gate_shexp.weight",
     "model.layers.{i}.mlp.shared_expert.gate_proj.weight"},
    {Part::kSharedUp, "blk.{i}.ffn_up_shexp.weight",
     "model.layers.{i}.mlp.shared_expert.up_proj.weight"},
    {Part::kSharedDown, "blk.{i}.ffn_down_shexp.weight",
     "model.layers.{i}.mlp.shared_expert.down_proj.weight"},
};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  set_biases(config, r.flag({"qkv_bias"}, true), false, false);
  set_qwen_windows(config, r);
  ExpertOptions experts = r.experts();
  experts.shared_ffn_size = r.size(
      {"shared_expert_intermediate_size", "expert_shared_feed_forward_length"}, int64_t{1} << 24);
  experts.shared_gate = true;
  set_qwen_experts(config, r, experts);
  return config;
}

}  // namespace

extern const ArchSpec kQwen2Moe;
const ArchSpec kQwen2Moe = {"qwen2moe", kNames, read_config, kRules};

}  // namespace fathom::model
