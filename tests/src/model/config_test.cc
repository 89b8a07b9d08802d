// Every refusal of check(), each from a config that is right but for one field.
#include "model/config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "src/model/made_file.h"
#include "support/error_check.h"

namespace fathom::model {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

using Change = std::function<void(ModelConfig&)>;

struct Refusal {
  const char* names;  // what the message must say
  Change change;
};

void expect_refusals(const Change& base, const std::vector<Refusal>& refusals) {
  ModelConfig good = test::small_config();
  base(good);
  check(good, "m");
  for (const Refusal& one : refusals) {
    ModelConfig bad = good;
    one.change(bad);
    SCOPED_TRACE(one.names);
    test::expect_error([&] { check(bad, "folder/config.json"); }, ErrorCode::kCorruptFile,
                       {"folder/config.json: ", one.names, ", expected "});
  }
}

void keep(ModelConfig& /*config*/) {}

LayerOptions& layer(ModelConfig& config) {
  return config.layers.front();
}

RopeOptions& rope(ModelConfig& config) {
  return config.ropes.front();
}

TEST(ConfigCheck, TheTrunk) {
  expect_refusals(keep, {{"epsilon is 0", [](auto& c) { c.norm_eps = 0; }},
                         {"epsilon is nan", [](auto& c) { c.norm_eps = kNan; }},
                         {"vocab_size is 0", [](auto& c) { c.n_vocab = 0; }},
                         {"final_logit_softcapping is -1", [](auto& c) { c.logit_soft_cap = -1; }},
                         {"clip_qkv is inf", [](auto& c) { c.clip_qkv = kInfinity; }},
                         {"epsilon is 1e+300", [](auto& c) { c.norm_eps = 1e300; }},
                         {"clip_qkv is 1e-300", [](auto& c) { c.clip_qkv = 1e-300; }},
                         {"of embeddings is nan", [](auto& c) { c.embed_scale = kNan; }},
                         {"of embeddings is 0", [](auto& c) { c.embed_scale = 0; }},
                         {"of branches is inf", [](auto& c) { c.residual_scale = kInfinity; }},
                         {"of branches is -1", [](auto& c) { c.residual_scale = -1; }},
                         {"hidden state is -inf", [](auto& c) { c.hidden_scale = -kInfinity; }},
                         {"of logits is nan", [](auto& c) { c.logit_scale = kNan; }},
                         {"of logits is 1e+300", [](auto& c) { c.logit_scale = 1e300; }},
                         {"ALiBi slope is 0", [](auto& c) {
                            c.alibi_slopes = {0.5F, 0.0F};
                          }}});
}

TEST(ConfigCheck, ALayer) {
  expect_refusals(
      keep, {{"head_count_kv is 2", [](auto& c) { layer(c).n_heads = 3, layer(c).n_kv_heads = 2; }},
             {"sliding_window is -1", [](auto& c) { layer(c).window = -1; }},
             {"attn_logit_softcapping is nan", [](auto& c) { layer(c).score_soft_cap = kNan; }},
             {"attn_logit_softcapping is 1e+39", [](auto& c) { layer(c).score_soft_cap = 1e39; }},
             {"attention scale is 0", [](auto& c) { layer(c).score_scale = 0; }},
             {"attention scale is 1e+300", [](auto& c) { layer(c).score_scale = 1e300; }},
             {"swiglu_limit is -7", [](auto& c) { layer(c).hidden.clamp = -7.0F; }},
             {"rope is 1", [](auto& c) { layer(c).rope = 1; }},
             {"rope is -2", [](auto& c) { layer(c).rope = -2; }},
             {"width of a cached key is 577", [](auto& c) { layer(c).head_dim = 577; }}});
}

TEST(ConfigCheck, LayersShareThePage) {
  const auto two_layers = [](ModelConfig& c) { c.layers.push_back(c.layers.front()); };
  expect_refusals(two_layers,
                  {{"shape of keys and values", [](auto& c) { c.layers[1].n_kv_heads = 2; }},
                   {"shape of keys and values", [](auto& c) { c.layers[1].head_dim = 6; }},
                   {"shape of keys and values", [](auto& c) {
                      c.layers[1].latent = LatentOptions{0, 4, 4, 4, 4};
                    }}});
}

TEST(ConfigCheck, Rotations) {
  expect_refusals(keep,
                  {{"rope.dimension_count is 3", [](auto& c) { rope(c).rotary_dim = 3; }},
                   {"rope.dimension_count is 0", [](auto& c) { rope(c).rotary_dim = 0; }},
                   {"rope.dimension_count is 6", [](auto& c) { rope(c).rotary_dim = 6; }},
                   {"rope base is -1", [](auto& c) { rope(c).theta = -1; }},
                   {"rope base is inf", [](auto& c) { rope(c).theta = kInfinity; }},
                   {"rope base is 1e+300", [](auto& c) { rope(c).theta = 1e300; }},
                   {"rope scaling factor is 0", [](auto& c) { rope(c).factor = 0; }},
                   {"rope scaling factor is 1e+30", [](auto& c) { rope(c).factor = 1e30; }},
                   {"rope attention_factor is nan", [](auto& c) { rope(c).magnitude = kNan; }}});
}

TEST(ConfigCheck, ScalingsWithAnOriginalContext) {
  for (const RopeScaling scaling :
       {RopeScaling::kDynamic, RopeScaling::kLlama3, RopeScaling::kYarn, RopeScaling::kLongRope}) {
    const auto scaled = [scaling](ModelConfig& c) {
      rope(c).scaling = scaling;
      rope(c).original_context = 16;
      rope(c).short_factors = {1, 1};
      rope(c).long_factors = {1, 2};
    };
    expect_refusals(scaled, {{"original_max_position_embeddings is 0",
                              [](auto& c) { rope(c).original_context = 0; }},
                             {"original_max_position_embeddings is nan",
                              [](auto& c) { rope(c).original_context = kNan; }}});
  }
  for (const RopeScaling scaling : {RopeScaling::kLinear, RopeScaling::kProportional}) {
    ModelConfig config = test::small_config();
    rope(config).scaling = scaling;
    check(config, "m");  // these need none
  }
}

TEST(ConfigCheck, ScalingsOfEachKind) {
  const auto scaled = [](RopeScaling scaling) {
    return [scaling](ModelConfig& c) {
      rope(c).scaling = scaling;
      rope(c).original_context = 16;
      rope(c).short_factors = {1, 1};
      rope(c).long_factors = {1, 2};
    };
  };
  expect_refusals(scaled(RopeScaling::kLlama3),
                  {{"low_freq_factor is 0", [](auto& c) { rope(c).low_freq_factor = 0; }},
                   {"high_freq_factor is 1", [](auto& c) { rope(c).high_freq_factor = 1; }}});
  expect_refusals(scaled(RopeScaling::kYarn),
                  {{"beta_slow is 0", [](auto& c) { rope(c).beta_slow = 0; }},
                   {"beta_fast is 1", [](auto& c) { rope(c).beta_fast = 1; }},
                   {"rope base is 1", [](auto& c) { rope(c).theta = 1; }}});
  expect_refusals(scaled(RopeScaling::kDynamic),
                  {{"rope.dimension_count is 2", [](auto& c) { rope(c).rotary_dim = 2; }}});
  expect_refusals(
      scaled(RopeScaling::kLongRope),
      {{"long_factor and short_factor is 1 long", [](auto& c) { rope(c).short_factors = {1}; }},
       {"long_factor and short_factor is 0 long", [](auto& c) { rope(c).long_factors = {}; }},
       {"entry of long_factor or short_factor is 0", [](auto& c) {
          rope(c).long_factors = {1, 0};
        }}});
  ModelConfig from_tensors = test::small_config();
  scaled(RopeScaling::kLongRope)(from_tensors);
  rope(from_tensors).long_factors = {};
  rope(from_tensors).file_long_factors = true;  // the lists come with the tensors
  check(from_tensors, "m");
}

TEST(ConfigCheck, LatentAttention) {
  const auto latent = [](ModelConfig& c) {
    layer(c).latent = LatentOptions{0, 8, 4, 4, 4};
    layer(c).n_kv_heads = layer(c).n_heads;
  };
  expect_refusals(
      latent, {{"kv_lora_rank is 0", [](auto& c) { layer(c).latent->kv_rank = 0; }},
               {"kv_lora_rank is 5000", [](auto& c) { layer(c).latent->kv_rank = 5000; }},
               {"qk_nope_head_dim is 0", [](auto& c) { layer(c).latent->nope_dim = 0; }},
               {"qk_nope_head_dim is -4", [](auto& c) { layer(c).latent->nope_dim = -4; }},
               {"qk_rope_head_dim is 0", [](auto& c) { layer(c).latent->rope_dim = 0; }},
               {"v_head_dim is 0", [](auto& c) { layer(c).latent->value_dim = 0; }},
               {"q_lora_rank is -1", [](auto& c) { layer(c).latent->q_rank = -1; }},
               {"width of a cached key is 604", [](auto& c) { layer(c).latent->kv_rank = 600; }},
               {"rope.dimension_count is 6", [](auto& c) { rope(c).rotary_dim = 6; }}});
}

TEST(ConfigCheck, Experts) {
  const auto experts = [](ModelConfig& c) {
    ExpertOptions e;
    e.n_experts = 8;
    e.ffn_size = 4;
    e.router.n_used = 2;
    e.router.n_groups = 4;
    e.router.groups_used = 2;
    layer(c).experts = e;
  };
  const auto router = [](ModelConfig& c) -> ops::Router& { return layer(c).experts->router; };
  expect_refusals(
      experts,
      {{"number of experts is 0", [](auto& c) { layer(c).experts->n_experts = 0; }},
       {"number of experts is 5000", [](auto& c) { layer(c).experts->n_experts = 5000; }},
       {"width of an expert is 0", [](auto& c) { layer(c).experts->ffn_size = 0; }},
       {"num_experts_per_tok is 0", [&](auto& c) { router(c).n_used = 0; }},
       {"num_experts_per_tok is 9", [&](auto& c) { router(c).n_used = 9; }},
       {"num_experts_per_tok is 5", [&](auto& c) { router(c).n_used = 5; }},  // 2 groups hold 4
       {"n_group is 0", [&](auto& c) { router(c).n_groups = 0; }},
       {"n_group is 3", [&](auto& c) { router(c).n_groups = 3; }},
       {"topk_group is 0", [&](auto& c) { router(c).groups_used = 0; }},
       {"topk_group is 5", [&](auto& c) { router(c).groups_used = 5; }},
       {"routed_scaling_factor is 0", [&](auto& c) { router(c).scale = 0; }},
       {"a parallel layer", [](auto& c) { layer(c).parallel = true; }}});
}

}  // namespace
}  // namespace fathom::model
