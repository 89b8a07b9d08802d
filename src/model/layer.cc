// The layer's two branches and how a branch joins the residual stream.
#include "model/layer.h"

namespace fathom::model {

void run_layer(const LayerStep& step) {
  attention_block(step);
  feed_forward_block(step);
}

void close_branch(const LayerStep& step, BranchEnd end) {
  StepBuffers& b = *step.buffers;
  if (end.post_norm == nullptr) {
    end.part.out = b.x;
    end.part.sum_name = end.sum_name;
    step.backend->linear(*end.packed, {&end.part, 1}, ops::Epilogue::kAddTo, step.layer);
    return;
  }
  end.part.out = b.branch;
  step.backend->linear(*end.packed, {&end.part, 1}, ops::Epilogue::kStore, step.layer);
  step.backend->norm(b.branch, step.norm(end.post_norm), b.branch, {step.layer, end.norm_name});
  step.backend->add(b.x, b.branch, {step.layer, end.sum_name});
}

}  // namespace fathom::model
