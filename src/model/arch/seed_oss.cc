// Seed-OSS: Llama with separate bias keys for q k v, for o and for the feed-forward. Source: the
// released model, 2025.
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"SeedOssForCausalLM"};

constexpr TensorRule kRules[] = {
    {Part::kFfnNorm, "blk.{i}.post_attention_norm.weight",
     "model.layers.{i}.post_attention_layernorm.weight"},
};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  set_biases(config, r.flag({"attention_bias"}, true), r.flag({"attention_out_bias"}, false),
             r.flag({"mlp_bias"}, false));
  return config;
}

}  // namespace

extern const ArchSpec kSeedOss;
const ArchSpec kSeedOss = {"seed_oss", kNames, read_config, kRules};

}  // namespace fathom::model
