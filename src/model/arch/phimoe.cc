// Phi-3.5-MoE: layer norms with bias, biases on attention and head, two of sixteen experts picked
// one after the other (sparse mixer). Source: arXiv 2404.14219; the mixer: arXiv 2409.12136.
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"PhimoeForCausalLM", "PhiMoEForCausalLM"};

constexpr TensorRule kRules[] = {
    {Part::kRouter, "blk.{i}.ffn_gate_inp.weight", "model.layers.{i}.block_sparse_moe.gate.weight"},
    {Part::kExpertGate, "blk.{i}.ffn_gate_exps.weight",
     "model.layers.{i}.block_sparse_moe.experts.{e}.w1.weight"},
    {Part::kExpertUp, "blk.{i}.ffn_up_exps.weight",
     "model.layers.{i}.block_sparse_moe.experts.{e}.w3.weight"},
    {Part::kExpertDown, "blk.{i}.ffn_down_exps.weight",
     "model.layers.{i}.block_sparse_moe.experts.{e}.w2.weight"},
};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  set_layer_norms(config, true);
  const bool bias = r.flag({"attention_bias"}, false);
  set_biases(config, bias, bias, false);
  config.head_bias = r.flag({"lm_head_bias"}, false);
  const int64_t window = r.integer({"sliding_window", "attention.sliding_window"}, 0);
  set_windows(config, r, window, [](int64_t) { return true; });
  ExpertOptions experts = r.experts();
  experts.router.kind = ops::RouterKind::kSparseMixer;
  experts.router.jitter = static_cast<float>(r.within({"router_jitter_noise"}, {0, 1}, 0.01));
  set_experts(config, experts);
  return config;
}

}  // namespace

extern const ArchSpec kPhimoe;
const ArchSpec kPhimoe = {"phimoe", kNames, read_config, kRules};

}  // namespace fathom::model
