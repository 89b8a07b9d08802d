// Attention of one layer: norm, project to q k v, norm and rotate q and k, write K and V to the
// pages, attend over the pages, project back. Sources: arXiv 1706.03762; grouped queries arXiv
// 2305.13245. Called by model/layer. Read next: ops/cpu_attend.cc.
#include <span>

#include "model/layer.h"

namespace fathom::model {

void attention_block(const LayerStep& step) {
  const LayerOptions& options = step.options();
  const LayerWeights& w = step.layer_weights();
  StepBuffers& b = *step.buffers;
  ops::Backend& backend = *step.backend;

  backend.norm_pack(b.x, step.norm(w.attn_norm), b.normed, {step.layer, "attn_norm"});
  const ops::LinearPart qkv[] = {
      {w.q, w.q_bias, b.q, "q"}, {w.k, w.k_bias, b.k, "k"}, {w.v, w.v_bias, b.v, "v"}};
  backend.linear(b.normed, qkv, ops::Epilogue::kStore, step.layer);

  const ops::Norm q_norm = step.norm(w.q_norm);
  const ops::Norm k_norm = step.norm(w.k_norm);
  const auto kind = static_cast<size_t>(options.rope);
  ops::RotateAndStore store;
  store.q = b.q;
  store.k = b.k;
  store.v = b.v;
  store.n_heads = options.n_heads;
  store.n_kv_heads = options.n_kv_heads;
  store.head_dim = options.head_dim;
  store.q_norm = options.qk_norm ? &q_norm : nullptr;
  store.k_norm = options.qk_norm ? &k_norm : nullptr;
  store.rope = {b.rope_cos[kind], b.rope_sin[kind], step.weights->config.ropes[kind].rotary_dim / 2,
                step.weights->config.ropes[kind].style};
  store.pages = step.pages->view(step.layer);
  store.sequences = step.input->sequences;
  backend.rotate_and_store(store, step.layer);

  ops::Attend attend;
  attend.q = b.q;
  attend.out = b.attended;
  attend.n_heads = options.n_heads;
  attend.pages = store.pages;
  attend.sequences = step.input->sequences;
  attend.window = options.window;
  attend.scale = static_cast<float>(options.score_scale);
  attend.soft_cap = static_cast<float>(options.score_soft_cap);
  attend.kind = step.attention;
  backend.attend(attend, step.layer);

  backend.pack(b.attended, b.attended_packed, {step.layer, "attn_packed"});
  close_branch(step, {&b.attended_packed,
                      {w.output, w.output_bias, {}, "attn_out"},
                      w.attn_post_norm,
                      "attn_post_norm",
                      "attn_residual"});
}

}  // namespace fathom::model
