// The gated feed-forward of one layer: norm, gate and up, activation, down.
// Source: arXiv 2002.05202. Called by model/layer. Read next: ops/cpu_matmul.cc.
#include "model/layer.h"

namespace fathom::model {

void feed_forward_block(const LayerStep& step) {
  const LayerWeights& w = step.layer_weights();
  StepBuffers& b = *step.buffers;
  ops::Backend& backend = *step.backend;

  backend.norm_pack(b.x, step.norm(w.ffn_norm), b.normed, {step.layer, "ffn_norm"});
  const ops::GatedLinear gated = {w.gate, w.up, w.gate_bias, w.up_bias, step.options().activation};
  backend.gated_linear(b.normed, gated, b.ffn_hidden, step.layer);
  close_branch(step, {&b.ffn_hidden,
                      {w.down, w.down_bias, {}, "ffn_out"},
                      w.ffn_post_norm,
                      "ffn_post_norm",
                      "ffn_residual"});
}

}  // namespace fathom::model
