// Attention of one layer: norm, project to q k v, norm and rotate q and k, write K and V to the
// pages, attend over the pages, project back. Sources: arXiv 1706.03762; grouped queries arXiv
// 2305.13245; ALiBi arXiv 2108.12409. Called by model/layer. Read next: ops/cpu_attend.cc,
// model/latent_attention.cc.
#include "model/layer.h"

namespace fathom::model {

namespace {

void project_qkv(const LayerStep& step) {
  const LayerWeights& w = step.layer_weights();
  StepBuffers& b = *step.buffers;
  const ops::LinearPart qkv[] = {{w.q.matrix, w.q.bias, b.q, "q"},
                                 {w.k.matrix, w.k.bias, b.k, "k"},
                                 {w.v.matrix, w.v.bias, b.v, "v"}};
  step.backend->linear(b.normed, qkv, ops::Epilogue::kStore, step.layer);
  add_updates(step, b.normed, LoraTarget::kQ, b.q, 1.0F);
  add_updates(step, b.normed, LoraTarget::kK, b.k, 1.0F);
  add_updates(step, b.normed, LoraTarget::kV, b.v, 1.0F);
}

ops::Norm qk_norm(const LayerStep& step, const NormWeights& weights) {
  return {weights.weight, weights.bias, static_cast<float>(step.config().norm_eps),
          step.options().qk_norm_kind};
}

void store_heads(const LayerStep& step) {
  const LayerOptions& options = step.options();
  const LayerWeights& w = step.layer_weights();
  StepBuffers& b = *step.buffers;
  const ops::Norm q_norm = qk_norm(step, w.q_norm);
  const ops::Norm k_norm = qk_norm(step, w.k_norm);
  if (options.qk_norm == QkNorm::kWide) {
    step.backend->norm(b.q, q_norm, b.q, {step.layer, "q_norm"});
    step.backend->norm(b.k, k_norm, b.k, {step.layer, "k_norm"});
  }
  if (const double limit = step.config().clip_qkv; limit > 0) {
    step.backend->clamp(b.q, static_cast<float>(limit), {step.layer, "q_clamped"});
    step.backend->clamp(b.k, static_cast<float>(limit), {step.layer, "k_clamped"});
    step.backend->clamp(b.v, static_cast<float>(limit), {step.layer, "v_clamped"});
  }
  const bool per_head = options.qk_norm == QkNorm::kHead || options.qk_norm == QkNorm::kEachHead;
  ops::RotateAndStore store;
  store.q = b.q;
  store.k = b.k;
  store.v = b.v;
  store.n_heads = options.n_heads;
  store.n_kv_heads = options.n_kv_heads;
  store.head_dim = options.head_dim;
  store.value_dim = options.head_dim;
  store.q_norm = per_head ? &q_norm : nullptr;
  store.k_norm = per_head ? &k_norm : nullptr;
  store.norm_stride = options.qk_norm == QkNorm::kEachHead ? options.head_dim : 0;
  store.norm_after_rope = options.qk_norm_after_rope;
  store.rope = rope_view(step);
  store.pages = step.pages->view(step.layer);
  store.sequences = step.input->sequences;
  step.backend->rotate_and_store(store, step.layer);
}

}  // namespace

ops::RopeView rope_view(const LayerStep& step) {
  if (step.options().rope < 0) {
    return {};
  }
  const auto kind = static_cast<size_t>(step.options().rope);
  const RopeOptions& rope = step.config().ropes[kind];
  const StepBuffers& b = *step.buffers;
  return {b.rope_cos[kind], b.rope_sin[kind], rope.rotary_dim / 2, rope.style};
}

ops::Attend attend_job(const LayerStep& step) {
  const LayerOptions& options = step.options();
  const std::vector<float>& slopes = step.config().alibi_slopes;
  ops::Attend attend;
  attend.q = options.latent ? step.buffers->q_absorbed : step.buffers->q;
  attend.out = step.buffers->attended;
  attend.n_heads = options.n_heads;
  attend.pages = step.pages->view(step.layer);
  attend.sequences = step.input->sequences;
  attend.window = options.window;
  attend.scale = static_cast<float>(options.score_scale);
  attend.soft_cap = static_cast<float>(options.score_soft_cap);
  attend.sinks = step.layer_weights().sinks;
  attend.slopes = slopes.empty() ? nullptr : slopes.data();
  attend.kind = step.attention;
  return attend;
}

void attention_block(const LayerStep& step) {
  const LayerWeights& w = step.layer_weights();
  StepBuffers& b = *step.buffers;
  ops::Backend& backend = *step.backend;
  const bool latent = step.options().latent.has_value();

  branch_input(step, w.attn_norm, b.normed, "attn_norm");
  if (latent) {
    latent_queries(step);
  } else {
    project_qkv(step);
    store_heads(step);
  }
  backend.attend(attend_job(step), step.layer);
  if (latent) {
    latent_values(step);
  }
  backend.pack(latent ? b.values : b.attended, b.attended_packed, {step.layer, "attn_packed"});
  close_branch(step, {&b.attended_packed,
                      {w.output.matrix, w.output.bias, {}, "attn_out"},
                      LoraTarget::kOutput,
                      w.attn_post_norm,
                      "attn_post_norm",
                      "attn_residual"});
}

}  // namespace fathom::model
