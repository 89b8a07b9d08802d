// One decoder layer, in the order of the usual diagram: attention, then feed-forward.
// Called by model/model. Read next: model/attention.cc, model/latent_attention.cc,
// model/feed_forward.cc, model/experts.cc.
#pragma once

#include <span>
#include <string_view>

#include "kv/page_pool.h"
#include "model/buffers.h"
#include "model/step_input.h"
#include "model/weights.h"
#include "ops/backend.h"

namespace fathom::model {

inline ops::Norm norm_of(const ModelConfig& config, const NormWeights& weights) {
  return {weights.weight, weights.bias, static_cast<float>(config.norm_eps), config.norm_kind};
}

// What the blocks of a layer share in one step; lives on the trunk's stack.
struct LayerStep {
  const ModelWeights* weights = nullptr;
  ops::Backend* backend = nullptr;
  const kv::PagePool* pages = nullptr;
  const StepInput* input = nullptr;
  StepBuffers* buffers = nullptr;
  ops::AttentionKind attention = ops::AttentionKind::kFlash;
  int layer = 0;

  [[nodiscard]] const ModelConfig& config() const { return weights->config; }

  [[nodiscard]] const LayerOptions& options() const {
    return weights->config.layers[static_cast<size_t>(layer)];
  }

  [[nodiscard]] const LayerWeights& layer_weights() const {
    return weights->layers[static_cast<size_t>(layer)];
  }

  [[nodiscard]] ops::Norm norm(const NormWeights& norm_weights) const {
    return norm_of(weights->config, norm_weights);
  }

  [[nodiscard]] float residual_scale() const {
    return static_cast<float>(weights->config.residual_scale);
  }
};

// The residual stream buffers->x [n_tokens, hidden] through one layer: x + attention(x), then x +
// feed_forward(x), or both of the same x.
void run_layer(const LayerStep& step);

// The two branches, each with its norms and its residual sum.
void attention_block(const LayerStep& step);
void feed_forward_block(const LayerStep& step);

// The feed-forward of a layer with experts (model/experts.cc).
void expert_block(const LayerStep& step);

// What every kind of attention needs of a step.
ops::Attend attend_job(const LayerStep& step);
ops::RopeView rope_view(const LayerStep& step);

// Query, key and value rows by low-rank latents (model/latent_attention.cc): normed -> q_absorbed,
// k, and after attention attended -> values.
void latent_queries(const LayerStep& step);
void latent_values(const LayerStep& step);

// The input of a branch in packed form: x, through the norm before it where the layer has one.
void branch_input(const LayerStep& step, const NormWeights& norm, ops::PackedRows& out,
                  std::string_view name);

// out = matrix x + bias, and the low-rank updates beside the matrix.
void add_updates(const LayerStep& step, const ops::PackedRows& packed, LoraTarget target,
                 const ops::Rows& out, float scale);

// The end of a branch: projects `packed` by `part` and adds it to the residual stream, through
// `post_norm` where the layer has one.
struct BranchEnd {
  const ops::PackedRows* packed = nullptr;
  ops::LinearPart part;  // out is set here
  LoraTarget target = LoraTarget::kOutput;
  NormWeights post_norm;
  std::string_view norm_name;
  std::string_view sum_name;
};

void close_branch(const LayerStep& step, BranchEnd end);

// The same for a branch that is computed already, in buffers->branch.
void join_branch(const LayerStep& step, const BranchEnd& end);

}  // namespace fathom::model
