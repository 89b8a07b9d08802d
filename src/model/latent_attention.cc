// Multi-head latent attention with the latent itself in the pages: one shared head [latent | rope]
// per token instead of all heads' keys and values. A query's nope part is brought into the latent
// space (k_b), scores and weighted sums happen there, and v_b leads out of it: the same numbers as
// with expanded heads up to the order of sums, in prefill and decode alike.
// Source: arXiv 2405.04434, sections 2.1.2 and 2.1.3. Called by model/attention.
// Read next: ops/backend.h (GroupedLinear).
#include <vector>

#include "model/layer.h"

namespace fathom::model {

namespace {

// Rows of per-head products are sorted by head: head h has rows h * n_tokens ... of them.
std::span<const int64_t> head_rows(StepBuffers& b, int n_heads, int64_t n_tokens) {
  for (int head = 0; head <= n_heads; ++head) {
    b.first_rows[static_cast<size_t>(head)] = head * n_tokens;
  }
  return b.first_rows.first(static_cast<size_t>(n_heads) + 1);
}

ops::Norm latent_norm(const LayerStep& step, const NormWeights& weights) {
  ops::Norm norm = step.norm(weights);
  norm.eps = static_cast<float>(step.options().latent->norm_eps);
  return norm;
}

// q [n_tokens, n_heads * (nope + rope)], directly or through its own latent.
void project_queries(const LayerStep& step) {
  const LayerWeights& w = step.layer_weights();
  const LatentWeights& latent = w.latent;
  StepBuffers& b = *step.buffers;
  const ops::LinearPart kv = {latent.kv_a.matrix, latent.kv_a.bias, b.k, "kv_latent"};
  if (step.options().latent->q_rank == 0) {
    const ops::LinearPart parts[] = {{w.q.matrix, w.q.bias, b.q, "q"}, kv};
    step.backend->linear(b.normed, parts, ops::Epilogue::kStore, step.layer);
    return;
  }
  const ops::LinearPart parts[] = {{latent.q_a.matrix, latent.q_a.bias, b.q_latent, "q_latent"},
                                   kv};
  step.backend->linear(b.normed, parts, ops::Epilogue::kStore, step.layer);
  step.backend->norm_pack(b.q_latent, latent_norm(step, latent.q_norm), b.q_latent_packed,
                          {step.layer, "q_latent_norm"});
  const ops::LinearPart q = {latent.q_b.matrix, latent.q_b.bias, b.q, "q"};
  step.backend->linear(b.q_latent_packed, {&q, 1}, ops::Epilogue::kStore, step.layer);
}

}  // namespace

void latent_queries(const LayerStep& step) {
  const LayerOptions& options = step.options();
  const LatentOptions& latent = *options.latent;
  const LatentWeights& w = step.layer_weights().latent;
  StepBuffers& b = *step.buffers;
  const int key_dim = options.page_key_dim();
  const int q_dim = latent.nope_dim + latent.rope_dim;
  project_queries(step);

  ops::Rows compressed = b.k;  // the latent without the shared rope part
  compressed.n_cols = latent.kv_rank;
  step.backend->norm(compressed, latent_norm(step, w.kv_norm), compressed,
                     {step.layer, "kv_latent_norm"});

  step.backend->pack_heads(b.q, options.n_heads, 0, q_dim, b.nope_packed,
                           {step.layer, "q_nope_packed"});
  ops::GroupedLinear absorb;
  absorb.weights = w.k_b;
  absorb.first_rows = head_rows(b, options.n_heads, b.q.n_rows);
  absorb.out = b.q_absorbed;
  absorb.group_cols = key_dim;
  absorb.name = "q_absorbed";
  step.backend->grouped_linear(b.nope_packed, absorb, step.layer);
  step.backend->copy_heads({.from = b.q,
                            .from_first = latent.nope_dim,
                            .from_step = q_dim,
                            .to = b.q_absorbed,
                            .to_first = latent.kv_rank,
                            .to_step = key_dim,
                            .n_heads = options.n_heads,
                            .n_cols = latent.rope_dim});

  ops::RotateAndStore store;
  store.q = b.q_absorbed;
  store.k = b.k;
  store.v = compressed;
  store.n_heads = options.n_heads;
  store.n_kv_heads = 1;
  store.head_dim = key_dim;
  store.value_dim = latent.kv_rank;
  store.rope_first = latent.kv_rank;
  store.rope = rope_view(step);
  store.pages = step.pages->view(step.layer);
  store.sequences = step.input->sequences;
  step.backend->rotate_and_store(store, step.layer);
}

void latent_values(const LayerStep& step) {
  const LayerOptions& options = step.options();
  const LatentOptions& latent = *options.latent;
  StepBuffers& b = *step.buffers;
  step.backend->pack_heads(b.attended, options.n_heads, 0, latent.kv_rank, b.latent_packed,
                           {step.layer, "latent_packed"});
  ops::GroupedLinear expand;
  expand.weights = step.layer_weights().latent.v_b;
  expand.first_rows = head_rows(b, options.n_heads, b.attended.n_rows);
  expand.out = b.values;
  expand.group_cols = latent.value_dim;
  expand.name = "attn_values_expanded";
  step.backend->grouped_linear(b.latent_packed, expand, step.layer);
}

}  // namespace fathom::model
