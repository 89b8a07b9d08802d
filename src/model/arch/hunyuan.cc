// Hunyuan dense: Llama with a qk-norm per head behind the rotation; its dynamic scaling raises the
// base once, by alpha. Source: the released models, 2025.
#include "base/det_math.h"
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"HunYuanDenseV1ForCausalLM"};

constexpr TensorRule kRules[] = {
    {Part::kQNorm, "blk.{i}.attn_q_norm.weight",
     "model.layers.{i}.self_attn.query_layernorm.weight"},
    {Part::kKNorm, "blk.{i}.attn_k_norm.weight", "model.layers.{i}.self_attn.key_layernorm.weight"},
};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  set_qk_norm(config, QkNorm::kHead);
  for (LayerOptions& layer : config.layers) {
    layer.qk_norm_after_rope = true;
  }
  const bool bias = r.flag({"attention_bias"}, false);
  set_biases(config, bias, bias, r.flag({"mlp_bias"}, false));
  RopeOptions& rope = config.ropes.front();
  const double alpha = r.within({"rope_scaling.alpha|rope_parameters.alpha"}, {0, 1e6}, 0.0);
  if (rope.scaling == RopeScaling::kDynamic && alpha > 0) {
    rope.scaling = RopeScaling::kNone;
    rope.theta *= det_pow(alpha, rope.rotary_dim / (rope.rotary_dim - 2.0));
  }
  return config;
}

}  // namespace

extern const ArchSpec kHunyuan;
const ArchSpec kHunyuan = {"hunyuan-dense", kNames, read_config, kRules};

}  // namespace fathom::model
