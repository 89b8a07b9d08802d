// A mixture of experts: the router chooses in f32, tokens are sorted by expert, each expert
// multiplies its own run of rows, and a token's results are added in the order of its choices, so
// that no bit depends on who else is in the step. Sources: arXiv 2101.03961 (routing), arXiv
// 2401.06066 (shared experts). Called by model/layer. Read next: ops/backend.h (Routing).
#include "model/layer.h"

namespace fathom::model {

namespace {

// Branch += the experts that every token passes.
void add_shared(const LayerStep& step) {
  const ExpertWeights& w = step.layer_weights().mixture;
  StepBuffers& b = *step.buffers;
  step.backend->pack(b.expert_normed, b.normed, {step.layer, "shared_in"});
  const ops::GatedLinear gated = {w.shared_gate, w.shared_up, nullptr, nullptr,
                                  step.options().hidden};
  step.backend->gated_linear(b.normed, gated, b.shared_hidden, step.layer);
  const ops::LinearPart down = {w.shared_down, nullptr, b.shared_out, "shared_out"};
  step.backend->linear(b.shared_hidden, {&down, 1}, ops::Epilogue::kStore, step.layer);
  if (!step.options().experts->shared_gate) {
    step.backend->add(b.branch, b.shared_out, 1.0F, {step.layer, "experts_and_shared"});
    return;
  }
  const ops::LinearPart gate = {w.shared_router, nullptr, b.shared_gate, "shared_gate"};
  step.backend->linear(b.router_in, {&gate, 1}, ops::Epilogue::kStore, step.layer);
  step.backend->add_gated(b.branch, b.shared_out, b.shared_gate,
                          {step.layer, "experts_and_shared"});
}

ops::Routing routing_of(StepBuffers& b, int64_t n_tokens, const ExpertOptions& options) {
  const auto n = static_cast<size_t>(n_tokens * options.router.n_used);
  return {b.expert_ids.first(n), b.expert_weights.first(n), b.token_of.first(n), b.row_of.first(n),
          b.first_rows.first(static_cast<size_t>(options.n_experts) + 1)};
}

}  // namespace

void expert_block(const LayerStep& step) {
  const ExpertOptions& options = *step.options().experts;
  const LayerWeights& layer = step.layer_weights();
  const ExpertWeights& w = layer.mixture;
  StepBuffers& b = *step.buffers;
  ops::Backend& backend = *step.backend;
  const int64_t n_tokens = b.x.n_rows;

  backend.norm(b.x, step.norm(layer.ffn_norm), b.expert_normed, {step.layer, "ffn_norm"});
  backend.pack(b.expert_normed, b.router_in, {step.layer, "router_in"});
  const ops::LinearPart router = {w.router.matrix, w.router.bias, b.router_logits, "router_logits"};
  backend.linear(b.router_in, {&router, 1}, ops::Epilogue::kStore, step.layer);
  ops::Router choice = options.router;
  choice.bias = w.correction;
  const ops::Routing routing = routing_of(b, n_tokens, options);
  backend.route(b.router_logits, choice, routing, step.layer);

  backend.gather_pack(b.expert_normed, routing.token_of, b.expert_in, {step.layer, "expert_in"});
  backend.grouped_gated_linear(b.expert_in, {w.experts, routing.first_rows, routing.token_of},
                               b.expert_hidden, step.layer);
  ops::GroupedLinear down;
  down.weights = w.down;
  down.biases = w.down_bias;
  down.first_rows = routing.first_rows;
  down.out = b.expert_out;
  down.out.n_rows = n_tokens * options.router.n_used;
  down.name = "expert_out";
  backend.grouped_linear(b.expert_hidden, down, step.layer);
  backend.combine_experts(down.out, routing, b.branch, {step.layer, "experts"});
  if (options.shared_ffn_size > 0) {
    add_shared(step);
  }
  BranchEnd end;
  end.post_norm = layer.ffn_post_norm;
  end.norm_name = "ffn_post_norm";
  end.sum_name = "ffn_residual";
  join_branch(step, end);
}

}  // namespace fathom::model
