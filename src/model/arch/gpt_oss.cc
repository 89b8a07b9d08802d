// gpt-oss: a learned sink per head in the softmax, windows on the even layers, biases everywhere,
// experts with a clamped SwiGLU whose gate and up rows alternate, stored [in, out] unless in MXFP4.
// Source: arXiv 2508.10925.
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"GptOssForCausalLM"};

constexpr TensorRule kRules[] = {
    {Part::kFfnNorm, "blk.{i}.post_attention_norm.weight",
     "model.layers.{i}.post_attention_layernorm.weight"},
    {Part::kRouter, "blk.{i}.ffn_gate_inp.weight", "model.layers.{i}.mlp.router.weight"},
    {Part::kExpertGate,
     "blk.{i}.ffn_gate_exps.weight",
     {"model.layers.{i}.mlp.experts.gate_up_proj", Layout::kGateUpPairs, true}},
    {Part::kExpertUp,
     "blk.{i}.ffn_up_exps.weight",
     {"model.layers.{i}.mlp.experts.gate_up_proj", Layout::kGateUpPairs, true}},
    {Part::kExpertDown,
     "blk.{i}.ffn_down_exps.weight",
     {"model.layers.{i}.mlp.experts.down_proj", Layout::kPlain, true}},
};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  const bool bias = r.flag({"attention_bias"}, true);
  set_biases(config, bias, bias, false);
  set_windows(config, r, r.integer({"sliding_window", "attention.sliding_window"}, 128),
              [](int64_t i) { return i % 2 == 0; });
  config.ropes.front().truncate = false;
  ExpertOptions experts = r.experts();
  experts.router.kind = ops::RouterKind::kTopKSoftmax;
  experts.bias = true;
  experts.router_bias = true;
  set_experts(config, experts);
  for (LayerOptions& layer : config.layers) {
    layer.sinks = true;
    layer.hidden.clamp = static_cast<float>(r.limit({"swiglu_limit"}, 7.0));
  }
  return config;
}

}  // namespace

extern const ArchSpec kGptOss;
const ArchSpec kGptOss = {"gpt-oss", kNames, read_config, kRules};

}  // namespace fathom::model
