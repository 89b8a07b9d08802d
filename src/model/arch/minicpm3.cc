// MiniCPM3: latent attention in a dense model, with multipliers on embeddings, branches and the
// last hidden state. Source: arXiv 2404.06395. GGUF leaves the multipliers out: the released values
// are taken.
#include <cmath>

#include "model/arch/family_keys.h"
#include "model/arch/registry.h"

namespace fathom::model {

namespace {

constexpr std::string_view kNames[] = {"MiniCPM3ForCausalLM"};

ModelConfig read_config(const ConfigReader& r) {
  ModelConfig config = r.common();
  set_latent_attention(config, r);
  config.embed_scale = r.factor({"scale_emb"}, 12.0);
  config.residual_scale =
      r.factor({"scale_depth"}, 1.4) / std::sqrt(static_cast<double>(config.n_layers));
  config.hidden_scale =
      r.factor({"dim_model_base"}, 256.0) / static_cast<double>(config.hidden_size);
  config.tied_head = r.flag({"tie_word_embeddings"}, true);
  const bool bias = r.flag({"attention_bias"}, false);
  set_biases(config, bias, bias, r.flag({"mlp_bias"}, false));
  return config;
}

}  // namespace

extern const ArchSpec kMinicpm3;
const ArchSpec kMinicpm3 = {"minicpm3", kNames, read_config, {}};

}  // namespace fathom::model
