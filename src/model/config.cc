// Refuses configurations that no sane model has.
#include "model/config.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "base/error.h"

namespace fathom::model {

namespace {

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

  void positive(double value, std::string_view field) const {
    require(std::isfinite(value) && value > 0, field, fmt::format("{}", value),
            "a positive finite number");
  }

 private:
  const std::string& path_;
};

void check_layer(const Checker& checker, const LayerOptions& layer, size_t n_ropes) {
  checker.require(layer.n_heads % layer.n_kv_heads == 0, "head_count_kv",
                  fmt::format("{}", layer.n_kv_heads),
                  fmt::format("a divisor of head_count {}", layer.n_heads));
  checker.require(layer.window >= 0, "sliding_window", fmt::format("{}", layer.window),
                  "0 or more");
  checker.require(std::isfinite(layer.score_soft_cap) && layer.score_soft_cap >= 0,
                  "attn_logit_softcapping", fmt::format("{}", layer.score_soft_cap),
                  "0 or a positive number");
  checker.positive(layer.score_scale, "the attention scale");
  checker.require(layer.rope >= 0 && static_cast<size_t>(layer.rope) < n_ropes, "rope",
                  fmt::format("{}", layer.rope), "an index of a rope kind");
}

void check_rope(const Checker& checker, const RopeOptions& rope, int head_dim) {
  checker.require(rope.rotary_dim > 0 && rope.rotary_dim % 2 == 0 && rope.rotary_dim <= head_dim,
                  "rope.dimension_count", fmt::format("{}", rope.rotary_dim),
                  fmt::format("an even number up to head_dim {}", head_dim));
  checker.positive(rope.theta, "rope base");
  checker.positive(rope.factor, "rope scaling factor");
  if (rope.scaling == RopeScaling::kLlama3) {
    checker.positive(rope.low_freq_factor, "low_freq_factor");
    checker.positive(rope.original_context, "original_max_position_embeddings");
    checker.require(rope.high_freq_factor > rope.low_freq_factor, "high_freq_factor",
                    fmt::format("{}", rope.high_freq_factor), "more than low_freq_factor");
  }
}

}  // namespace

void check(const ModelConfig& config, const std::string& path) {
  const Checker checker(path);
  checker.positive(config.norm_eps, "the norm's epsilon");
  checker.require(config.n_vocab > 0, "vocab_size", fmt::format("{}", config.n_vocab), "1 or more");
  checker.require(std::isfinite(config.logit_soft_cap) && config.logit_soft_cap >= 0,
                  "final_logit_softcapping", fmt::format("{}", config.logit_soft_cap),
                  "0 or a positive number");
  for (const LayerOptions& layer : config.layers) {
    check_layer(checker, layer, config.ropes.size());
  }
  for (const RopeOptions& rope : config.ropes) {
    check_rope(checker, rope, config.layers.front().head_dim);
  }
}

}  // namespace fathom::model
