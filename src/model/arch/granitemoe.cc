// Granite 3 MoE: Granite with stacked experts, gate|up in one matrix, and a softmax over the chosen
// logits. Source: the released models, 2024. GGUF files have q and k permuted.
#include "model/arch/family_keys.h"
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"GraniteMoeForCausalLM"};

constexpr TensorRule kRules[] = {
    {Part::kRouter, "blk.{i}.ffn_gate_inp.weight",
     "model.layers.{i}.block_sparse_moe.router.layer.weight"},
    {Part::kExpertGate,
     "blk.{i}.ffn_gate_exps.weight",
     {"model.layers.{i}.block_sparse_moe.input_linear.weight", Layout::kGateUpBlocks}},
    {Part::kExpertUp,
     "blk.{i}.ffn_up_exps.weight",
     {"model.layers.{i}.block_sparse_moe.input_linear.weight", Layout::kGateUpBlocks}},
    {Part::kExpertDown, "blk.{i}.ffn_down_exps.weight",
     "model.layers.{i}.block_sparse_moe.output_linear.weight"},
};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  set_granite_basics(config, r);
  ExpertOptions experts = r.experts();
  experts.router.kind = ops::RouterKind::kTopKSoftmax;
  set_experts(config, experts);
  return config;
}

}  // namespace

extern const ArchSpec kGranitemoe;
const ArchSpec kGranitemoe = {"granitemoe", kNames, read_config, kRules};

}  // namespace fathom::model
