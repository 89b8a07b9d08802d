// The trunk and its buffers.
#include "model/model.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "model/layer.h"

namespace fathom::model {

namespace {

// Widths over all layers, for buffers that layers share.
struct Widths {
  int64_t hidden = 0;
  int64_t q = 0;
  int64_t kv = 0;
  int64_t ffn = 0;
};

Widths widths_of(const ModelConfig& config) {
  Widths w;
  w.hidden = config.hidden_size;
  for (const LayerOptions& layer : config.layers) {
    w.q = std::max(w.q, int64_t{layer.n_heads} * layer.head_dim);
    w.kv = std::max(w.kv, int64_t{layer.n_kv_heads} * layer.head_dim);
    w.ffn = std::max(w.ffn, layer.ffn_size);
  }
  return w;
}

// Either counts bytes or takes them: the plan and the buffers cannot drift apart.
class Taker {
 public:
  explicit Taker(MemoryPool* pool) : pool_(pool) {}

  ops::Rows rows(int64_t n_rows, int64_t n_cols) {
    return {floats(n_rows * n_cols), n_rows, n_cols, n_cols};
  }

  float* floats(int64_t count) {
    const size_t n = static_cast<size_t>(count) * sizeof(float);
    bytes_ += MemoryPool::padded_bytes(n);
    return pool_ == nullptr ? nullptr : reinterpret_cast<float*>(pool_->allocate(n).data());
  }

  ops::PackedRows packed(int64_t n_rows, int64_t n_cols, ops::RowForms forms) {
    bytes_ += ops::PackedRows::bytes(n_rows, n_cols, forms);
    return pool_ == nullptr ? ops::PackedRows() : ops::PackedRows(*pool_, n_rows, n_cols, forms);
  }

  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  MemoryPool* pool_;
  size_t bytes_ = 0;
};

StepBuffers take_buffers(Taker& taker, const ModelConfig& config, const ModelWeightTypes& types,
                         const StepLimits& limits) {
  const Widths w = widths_of(config);
  const int64_t n = limits.max_tokens;
  StepBuffers b;
  b.x = taker.rows(n, w.hidden);
  const bool sandwich = std::ranges::any_of(config.layers, [](const LayerOptions& layer) {
    return layer.norm_placement == NormPlacement::kSandwich;
  });
  b.branch = taker.rows(sandwich ? n : 0, w.hidden);
  b.q = taker.rows(n, w.q);
  b.k = taker.rows(n, w.kv);
  b.v = taker.rows(n, w.kv);
  b.attended = taker.rows(n, w.q);
  b.last = taker.rows(limits.max_logits, w.hidden);
  b.normed = taker.packed(n, w.hidden, types.hidden_in);
  b.attended_packed = taker.packed(n, w.q, types.output_in);
  b.ffn_hidden = taker.packed(n, w.ffn, types.down_in);
  b.last_packed = taker.packed(limits.max_logits, w.hidden, types.head_in);
  for (const RopeOptions& rope : config.ropes) {
    b.rope_cos.push_back(taker.floats(n * rope.rotary_dim / 2));
    b.rope_sin.push_back(taker.floats(n * rope.rotary_dim / 2));
  }
  return b;
}

// Forms that the loaded matrices need.
ModelWeightTypes types_of(const ModelWeights& weights) {
  ModelWeightTypes types;
  types.head_in.add_for(weights.head.type);
  for (const LayerWeights& layer : weights.layers) {
    for (const auto* matrix : {&layer.q, &layer.k, &layer.v, &layer.gate, &layer.up}) {
      types.hidden_in.add_for(matrix->type);
    }
    types.output_in.add_for(layer.output.type);
    types.down_in.add_for(layer.down.type);
  }
  return types;
}

// The same buffers, cut to the rows of this step.
StepBuffers cut(const StepBuffers& full, int64_t n_tokens, int64_t n_logits) {
  StepBuffers b = full;
  for (ops::Rows* rows : {&b.x, &b.branch, &b.q, &b.k, &b.v, &b.attended}) {
    rows->n_rows = std::min(rows->n_rows, n_tokens);
  }
  b.last.n_rows = n_logits;
  for (ops::PackedRows* packed : {&b.normed, &b.attended_packed, &b.ffn_hidden}) {
    packed->resize(n_tokens);
  }
  b.last_packed.resize(n_logits);
  return b;
}

}  // namespace

Model::Model(const ModelWeights& weights, ops::Backend& backend, const kv::PagePool& pages,
             MemoryPool& scratch, const StepLimits& limits)
    : weights_(&weights), backend_(&backend), pages_(&pages), limits_(limits) {
  Taker taker(&scratch);
  buffers_ = take_buffers(taker, weights.config, types_of(weights), limits);
}

size_t Model::scratch_bytes(const ModelConfig& config, const ModelWeightTypes& types,
                            const StepLimits& limits) {
  Taker taker(nullptr);
  take_buffers(taker, config, types, limits);
  return taker.bytes();
}

void Model::forward(const StepInput& input, const ops::Rows& logits) {
  const ModelConfig& config = weights_->config;
  const auto n_tokens = static_cast<int64_t>(input.token_ids.size());
  const auto n_logits = static_cast<int64_t>(input.logit_rows.size());
  FATHOM_CHECK(n_tokens > 0 && n_tokens <= limits_.max_tokens);
  FATHOM_CHECK(n_logits <= limits_.max_logits);
  FATHOM_CHECK(static_cast<int64_t>(input.positions.size()) == n_tokens);
  FATHOM_CHECK(logits.n_rows >= n_logits && logits.n_cols == config.n_vocab);
  StepBuffers b = cut(buffers_, n_tokens, n_logits);

  backend_->embed(weights_->embedding, input.token_ids, static_cast<float>(config.embed_scale), b.x,
                  {-1, "embed"});
  for (size_t kind = 0; kind < config.ropes.size(); ++kind) {
    backend_->fill_rope(input.positions, weights_->inv_freq[kind], 1.0F, b.rope_cos[kind],
                        b.rope_sin[kind]);
  }
  LayerStep step = {weights_, backend_, pages_, &input, &b, limits_.attention, 0};
  for (int64_t layer = 0; layer < config.n_layers; ++layer) {
    step.layer = static_cast<int>(layer);
    run_layer(step);
  }
  if (n_logits == 0) {
    return;
  }
  for (int64_t i = 0; i < n_logits; ++i) {
    std::memcpy(b.last.row(i), b.x.row(input.logit_rows[static_cast<size_t>(i)]),
                static_cast<size_t>(config.hidden_size) * sizeof(float));
  }
  backend_->norm_pack(b.last, step.norm(weights_->last_norm), b.last_packed, {-1, "final_norm"});
  ops::LinearPart head = {weights_->head, nullptr, logits, "logits"};
  head.out.n_rows = n_logits;
  backend_->linear(b.last_packed, {&head, 1}, ops::Epilogue::kStore, -1);
  if (config.logit_soft_cap > 0) {
    backend_->soft_cap(head.out, static_cast<float>(config.logit_soft_cap), {-1, "capped_logits"});
  }
}

}  // namespace fathom::model
