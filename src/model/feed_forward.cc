// The feed-forward of one layer: norm, up (and gate), activation, down. Source of the gated form:
// arXiv 2002.05202. Called by model/layer. Read next: ops/cpu_matmul.cc, model/experts.cc.
#include "model/layer.h"

namespace fathom::model {

namespace {

// Gate and up with low-rank updates beside them cannot be fused with the activation.
void unfused_hidden(const LayerStep& step, const ops::PackedRows& in) {
  const LayerWeights& w = step.layer_weights();
  StepBuffers& b = *step.buffers;
  const ops::LinearPart up = {w.up.matrix, w.up.bias, b.up, "ffn_up"};
  ops::Rows gate;
  if (step.options().gated) {
    gate = b.gate;
    const ops::LinearPart part = {w.gate.matrix, w.gate.bias, gate, "ffn_gate"};
    step.backend->linear(in, {&part, 1}, ops::Epilogue::kStore, step.layer);
    add_updates(step, in, LoraTarget::kGate, gate, 1.0F);
  }
  step.backend->linear(in, {&up, 1}, ops::Epilogue::kStore, step.layer);
  add_updates(step, in, LoraTarget::kUp, b.up, 1.0F);
  step.backend->gate_pack(gate, b.up, step.options().hidden, b.ffn_hidden, step.layer);
}

}  // namespace

void feed_forward_block(const LayerStep& step) {
  const LayerOptions& options = step.options();
  const LayerWeights& w = step.layer_weights();
  StepBuffers& b = *step.buffers;
  const ops::PackedRows* in = &b.normed;  // a parallel layer with one norm: as attention left it
  if (options.parallel && options.own_ffn_norm) {
    in = &b.ffn_in;
  } else if (!options.parallel) {
    branch_input(step, w.ffn_norm, b.normed, "ffn_norm");
  }
  const bool updated = !w.lora_of(LoraTarget::kGate).empty() || !w.lora_of(LoraTarget::kUp).empty();
  if (updated) {
    unfused_hidden(step, *in);
  } else {
    const ops::GatedLinear gated = {w.gate.matrix, w.up.matrix, w.gate.bias, w.up.bias,
                                    options.hidden};
    step.backend->gated_linear(*in, gated, b.ffn_hidden, step.layer);
  }
  close_branch(step, {&b.ffn_hidden,
                      {w.down.matrix, w.down.bias, {}, "ffn_out"},
                      LoraTarget::kDown,
                      w.ffn_post_norm,
                      "ffn_post_norm",
                      "ffn_residual"});
}

}  // namespace fathom::model
