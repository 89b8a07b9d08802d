// The layer's two branches and how a branch joins the residual stream.
#include "model/layer.h"

namespace fathom::model {

namespace {

bool has_norm_before(const LayerOptions& options) {
  return options.norm_placement == NormPlacement::kPre ||
         options.norm_placement == NormPlacement::kSandwich;
}

bool has_norm_behind(const LayerOptions& options) {
  return options.norm_placement == NormPlacement::kPost ||
         options.norm_placement == NormPlacement::kSandwich;
}

// x = norm(x) where the norm follows the sum.
void norm_sum(const LayerStep& step, const BranchEnd& end) {
  if (step.options().norm_placement == NormPlacement::kAfterSum) {
    StepBuffers& b = *step.buffers;
    step.backend->norm(b.x, step.norm(end.post_norm), b.x, {step.layer, end.norm_name});
  }
}

}  // namespace

void run_layer(const LayerStep& step) {
  const LayerOptions& options = step.options();
  if (options.parallel && options.own_ffn_norm) {
    // The second branch reads x before the first has changed it.
    branch_input(step, step.layer_weights().ffn_norm, step.buffers->ffn_in, "ffn_norm");
  }
  attention_block(step);
  if (options.experts) {
    expert_block(step);
  } else {
    feed_forward_block(step);
  }
}

void branch_input(const LayerStep& step, const NormWeights& norm, ops::PackedRows& out,
                  std::string_view name) {
  StepBuffers& b = *step.buffers;
  if (has_norm_before(step.options())) {
    step.backend->norm_pack(b.x, step.norm(norm), out, {step.layer, name});
  } else {
    step.backend->pack(b.x, out, {step.layer, name});
  }
}

void add_updates(const LayerStep& step, const ops::PackedRows& packed, LoraTarget target,
                 const ops::Rows& out, float scale) {
  StepBuffers& b = *step.buffers;
  for (const LoraUpdate& update : step.layer_weights().lora_of(target)) {
    const ops::LinearPart down = {update.a, nullptr, b.low_rank, "lora_a"};
    step.backend->linear(packed, {&down, 1}, ops::Epilogue::kStore, step.layer);
    step.backend->pack(b.low_rank, b.low_rank_packed, {step.layer, "lora_packed"});
    ops::LinearPart up = {update.b, nullptr, out, "lora_b", "lora_sum"};
    up.scale = update.scale * scale;
    step.backend->linear(b.low_rank_packed, {&up, 1}, ops::Epilogue::kAddTo, step.layer);
  }
}

void close_branch(const LayerStep& step, BranchEnd end) {
  StepBuffers& b = *step.buffers;
  if (has_norm_behind(step.options())) {
    end.part.out = b.branch;
    step.backend->linear(*end.packed, {&end.part, 1}, ops::Epilogue::kStore, step.layer);
    add_updates(step, *end.packed, end.target, b.branch, 1.0F);
    join_branch(step, end);
    return;
  }
  end.part.out = b.x;
  end.part.sum_name = end.sum_name;
  end.part.scale = step.residual_scale();
  step.backend->linear(*end.packed, {&end.part, 1}, ops::Epilogue::kAddTo, step.layer);
  add_updates(step, *end.packed, end.target, b.x, step.residual_scale());
  norm_sum(step, end);
}

void join_branch(const LayerStep& step, const BranchEnd& end) {
  StepBuffers& b = *step.buffers;
  if (has_norm_behind(step.options())) {
    step.backend->norm(b.branch, step.norm(end.post_norm), b.branch, {step.layer, end.norm_name});
  }
  step.backend->add(b.x, b.branch, step.residual_scale(), {step.layer, end.sum_name});
  norm_sum(step, end);
}

}  // namespace fathom::model
