// One decoder layer, in the order of the usual diagram: attention, then feed-forward.
// Called by model/model. Read next: model/attention.cc, model/feed_forward.cc.
#pragma once

#include "kv/page_pool.h"
#include "model/model.h"
#include "model/step_input.h"
#include "model/weights.h"
#include "ops/backend.h"

namespace fathom::model {

// What the blocks of a layer share in one step; lives on the trunk's stack.
struct LayerStep {
  const ModelWeights* weights = nullptr;
  ops::Backend* backend = nullptr;
  const kv::PagePool* pages = nullptr;
  const StepInput* input = nullptr;
  StepBuffers* buffers = nullptr;  // views cut to this step's rows
  ops::AttentionKind attention = ops::AttentionKind::kFlash;
  int layer = 0;

  [[nodiscard]] const LayerOptions& options() const {
    return weights->config.layers[static_cast<size_t>(layer)];
  }

  [[nodiscard]] const LayerWeights& layer_weights() const {
    return weights->layers[static_cast<size_t>(layer)];
  }

  [[nodiscard]] ops::Norm norm(const float* weight) const {
    return {weight, static_cast<float>(weights->config.norm_eps)};
  }
};

// x + attention(x), then x + feed_forward(x), on the residual stream buffers->x [n_tokens, hidden].
void run_layer(const LayerStep& step);

// The two branches, each with its norms and its residual sum.
void attention_block(const LayerStep& step);
void feed_forward_block(const LayerStep& step);

// The end of a branch: projects `packed` by `weight` and adds it to the residual stream, through
// `post_norm` first when the layer has one.
struct BranchEnd {
  const ops::PackedRows* packed = nullptr;
  ops::LinearPart part;  // out is set here
  const float* post_norm = nullptr;
  std::string_view norm_name;
  std::string_view sum_name;
};

void close_branch(const LayerStep& step, BranchEnd end);

}  // namespace fathom::model
