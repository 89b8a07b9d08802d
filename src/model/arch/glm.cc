// GLM-4 9B (2024): rotation in pairs of half of each head, bias on q k v only, gate|up in one
// matrix. Source: arXiv 2406.12793.
#include "model/arch/registry.h"
#include "model/arch/rope_keys.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"GlmForCausalLM"};

constexpr TensorRule kRules[] = {
    {Part::kGate,
     {"blk.{i}.ffn_up.weight", Layout::kGateUpBlocks},
     {"model.layers.{i}.mlp.gate_up_proj.weight", Layout::kGateUpBlocks},
     2},
};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  set_rope_pairs(config);
  set_biases(config, r.flag({"attention_bias"}, false), false, false);
  return config;
}

}  // namespace

extern const ArchSpec kGlm;
const ArchSpec kGlm = {"chatglm", kNames, read_config, kRules};

}  // namespace fathom::model
