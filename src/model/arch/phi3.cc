// Phi-3, 3.5 and 4 dense: Llama with fused q|k|v and gate|up, a window, longrope. Source: arXiv
// 2404.14219.
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"Phi3ForCausalLM"};

constexpr TensorRule kRules[] = {
    {Part::kQ,
     {"blk.{i}.attn_qkv.weight", Layout::kQkvBlocks},
     {"model.layers.{i}.self_attn.qkv_proj.weight", Layout::kQkvBlocks},
     3},
    {Part::kGate,
     {"blk.{i}.ffn_up.weight", Layout::kGateUpBlocks},
     {"model.layers.{i}.mlp.gate_up_proj.weight", Layout::kGateUpBlocks},
     2},
};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  const int64_t window = r.integer({"sliding_window", "attention.sliding_window"}, 0);
  set_windows(config, r, window, [](int64_t) { return true; });
  return config;
}

}  // namespace

extern const ArchSpec kPhi3;
const ArchSpec kPhi3 = {"phi3", kNames, read_config, kRules};

}  // namespace fathom::model
