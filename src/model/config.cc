// Refuses configurations that no sane model has.
#include "model/config.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "base/error.h"
#include "ops/exec.h"

namespace fathom::model {

namespace {

constexpr Range kEpsilons = {1e-20, 1};
constexpr Range kRopeBases = {1e-6, 1e15};
constexpr Range kLengths = {1, 1e12};

class Checker {
 public:
  explicit Checker(const std::string& path) : path_(path) {}

  void require(bool holds, std::string_view field, const std::string& found,
               std::string_view allowed) const {
    if (!holds) {
      fail(ErrorCode::kCorruptFile,
           fmt::format("{}: {} is {}, expected {}", path_, field, found, allowed));
    }
  }

  void within(double value, Range range, std::string_view field) const {
    require(range.holds(value), field, fmt::format("{}", value),
            fmt::format("{:g} to {:g}", range.low, range.high));
  }

  // A factor of activations.
  void factor(double value, std::string_view field) const { within(value, kFactors, field); }

  // 0: none.
  void limit(double value, std::string_view field) const {
    require(value == 0 || kFactors.holds(value), field, fmt::format("{}", value),
            fmt::format("0 (none), or {:g} to {:g}", kFactors.low, kFactors.high));
  }

  void at_most(int64_t value, int64_t largest, std::string_view field) const {
    require(value >= 1 && value <= largest, field, fmt::format("{}", value),
            fmt::format("1 to {}", largest));
  }

 private:
  const std::string& path_;
};

void check_latent(const Checker& checker, const LatentOptions& latent) {
  checker.at_most(latent.kv_rank, 4096, "kv_lora_rank");
  checker.at_most(latent.nope_dim, 4096, "qk_nope_head_dim");
  checker.at_most(latent.rope_dim, 4096, "qk_rope_head_dim");
  checker.at_most(latent.value_dim, 4096, "v_head_dim");
  checker.require(latent.q_rank >= 0, "q_lora_rank", fmt::format("{}", latent.q_rank), "0 or more");
}

void check_experts(const Checker& checker, const ExpertOptions& experts) {
  const ops::Router& router = experts.router;
  checker.at_most(experts.n_experts, 4096, "the number of experts");
  checker.at_most(experts.ffn_size, int64_t{1} << 24, "the width of an expert");
  checker.at_most(router.n_used, experts.n_experts, "num_experts_per_tok");
  checker.at_most(router.n_groups, experts.n_experts, "n_group");
  checker.require(experts.n_experts % router.n_groups == 0, "n_group",
                  fmt::format("{}", router.n_groups),
                  fmt::format("a divisor of the {} experts", experts.n_experts));
  checker.at_most(router.groups_used, router.n_groups, "topk_group");
  const int reachable = experts.n_experts / router.n_groups * router.groups_used;
  checker.at_most(router.n_used, reachable, "num_experts_per_tok");
  checker.factor(router.scale, "routed_scaling_factor");
  checker.within(router.jitter, {0, 1}, "router_jitter_noise");
}

void check_layer(const Checker& checker, const LayerOptions& layer, size_t n_ropes) {
  checker.require(layer.n_heads % layer.n_kv_heads == 0, "head_count_kv",
                  fmt::format("{}", layer.n_kv_heads),
                  fmt::format("a divisor of head_count {}", layer.n_heads));
  checker.require(layer.window >= 0, "sliding_window", fmt::format("{}", layer.window),
                  "0 (none) or more");
  checker.limit(layer.score_soft_cap, "attn_logit_softcapping");
  checker.factor(layer.score_scale, "the attention scale");
  checker.limit(layer.hidden.clamp, "swiglu_limit");
  checker.require(layer.rope >= -1 && layer.rope < static_cast<int>(n_ropes), "rope",
                  fmt::format("{}", layer.rope), "an index of a rope kind");
  if (layer.latent) {
    check_latent(checker, *layer.latent);
  }
  if (layer.experts) {
    check_experts(checker, *layer.experts);
    checker.require(!layer.parallel, "a parallel layer", "one with experts", "a dense one");
  }
  checker.at_most(layer.page_key_dim(), ops::kMaxHeadDim, "the width of a cached key");
}

void check_rope(const Checker& checker, const RopeOptions& rope, const LayerOptions& layer) {
  const int head_dim = layer.latent ? layer.latent->rope_dim : layer.head_dim;
  checker.require(rope.rotary_dim > 0 && rope.rotary_dim % 2 == 0 && rope.rotary_dim <= head_dim,
                  "rope.dimension_count", fmt::format("{}", rope.rotary_dim),
                  fmt::format("an even number up to head_dim {}", head_dim));
  checker.within(rope.theta, kRopeBases, "rope base");
  checker.factor(rope.factor, "rope scaling factor");
  checker.factor(rope.magnitude, "rope attention_factor");
  if (rope.scaling != RopeScaling::kNone && rope.scaling != RopeScaling::kLinear &&
      rope.scaling != RopeScaling::kProportional) {
    checker.within(rope.original_context, kLengths, "original_max_position_embeddings");
  }
  if (rope.scaling == RopeScaling::kLlama3) {
    checker.factor(rope.low_freq_factor, "low_freq_factor");
    checker.factor(rope.high_freq_factor, "high_freq_factor");
    checker.require(rope.high_freq_factor > rope.low_freq_factor, "high_freq_factor",
                    fmt::format("{}", rope.high_freq_factor), "more than low_freq_factor");
  }
  if (rope.scaling == RopeScaling::kYarn) {
    checker.factor(rope.beta_slow, "beta_slow");
    checker.factor(rope.beta_fast, "beta_fast");
    checker.require(rope.beta_fast > rope.beta_slow, "beta_fast", fmt::format("{}", rope.beta_fast),
                    "more than beta_slow");
    checker.require(rope.theta != 1.0, "rope base", "1", "another number than 1");
  }
  if (rope.scaling == RopeScaling::kDynamic) {
    checker.require(rope.rotary_dim > 2, "rope.dimension_count", "2", "more than 2");
  }
  if (rope.scaling == RopeScaling::kLongRope && !rope.file_long_factors) {
    const auto n_pairs = static_cast<size_t>(rope.rotary_dim / 2);
    for (const auto* factors : {&rope.short_factors, &rope.long_factors}) {
      checker.require(factors->size() == n_pairs, "long_factor and short_factor",
                      fmt::format("{} long", factors->size()), fmt::format("{} long", n_pairs));
      for (const double factor : *factors) {
        checker.factor(factor, "an entry of long_factor or short_factor");
      }
    }
  }
}

// All layers share the buffers and the shape of a page.
void check_alike(const Checker& checker, const LayerOptions& first, const LayerOptions& layer) {
  checker.require(layer.page_heads() == first.page_heads() &&
                      layer.page_key_dim() == first.page_key_dim() &&
                      layer.page_value_dim() == first.page_value_dim(),
                  "the shape of keys and values", "not the same in all layers", "one shape");
}

}  // namespace

void check(const ModelConfig& config, const std::string& path) {
  const Checker checker(path);
  checker.within(config.norm_eps, kEpsilons, "the norm's epsilon");
  checker.require(config.n_vocab > 0, "vocab_size", fmt::format("{}", config.n_vocab), "1 or more");
  checker.limit(config.logit_soft_cap, "final_logit_softcapping");
  checker.limit(config.clip_qkv, "clip_qkv");
  checker.factor(config.embed_scale, "the multiplier of embeddings");
  checker.factor(config.residual_scale, "the multiplier of branches");
  checker.factor(config.hidden_scale, "the multiplier of the last hidden state");
  checker.factor(config.logit_scale, "the multiplier of logits");
  for (const float slope : config.alibi_slopes) {
    checker.factor(slope, "an ALiBi slope");
  }
  for (const LayerOptions& layer : config.layers) {
    check_layer(checker, layer, config.ropes.size());
    check_alike(checker, config.layers.front(), layer);
  }
  for (const RopeOptions& rope : config.ropes) {
    check_rope(checker, rope, config.layers.front());
  }
}

}  // namespace fathom::model
