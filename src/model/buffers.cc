// One function both counts and takes: the plan and the buffers cannot drift apart.
#include "model/buffers.h"

#include <algorithm>

namespace fathom::model {

namespace {

// The largest sizes over all layers, for buffers that layers share; 0 where no layer needs them.
struct Widths {
  int64_t q = 0;
  int64_t kv = 0;
  int64_t attended = 0;
  int64_t values = 0;
  int64_t ffn = 0;
  int64_t branch = 0;
  int64_t ffn_in = 0;
  int64_t n_heads = 0;  // latent attention
  int64_t q_rank = 0;
  int64_t absorbed = 0;
  int64_t nope = 0;
  int64_t latent = 0;
  int64_t n_experts = 0;
  int64_t n_used = 0;
  int64_t expert_ffn = 0;
  int64_t shared_ffn = 0;
  int64_t shared = 0;
  int64_t shared_gate = 0;
};

void grow(int64_t& width, int64_t value) {
  width = std::max(width, value);
}

void add_latent(Widths& w, const LayerOptions& layer) {
  const LatentOptions& latent = *layer.latent;
  grow(w.n_heads, layer.n_heads);
  grow(w.q_rank, latent.q_rank);
  grow(w.absorbed, int64_t{layer.n_heads} * layer.page_key_dim());
  grow(w.nope, latent.nope_dim);
  grow(w.latent, latent.kv_rank);
  grow(w.values, int64_t{layer.n_heads} * latent.value_dim);
}

void add_experts(Widths& w, const ExpertOptions& experts, int64_t hidden) {
  grow(w.n_experts, experts.n_experts);
  grow(w.n_used, experts.router.n_used);
  grow(w.expert_ffn, experts.ffn_size);
  grow(w.shared_ffn, experts.shared_ffn_size);
  grow(w.branch, hidden);
  grow(w.shared, experts.shared_ffn_size > 0 ? hidden : 0);
  grow(w.shared_gate, experts.shared_gate ? 1 : 0);
}

Widths widths_of(const ModelConfig& config) {
  Widths w;
  for (const LayerOptions& layer : config.layers) {
    grow(w.q, layer.latent
                  ? int64_t{layer.n_heads} * (layer.latent->nope_dim + layer.latent->rope_dim)
                  : layer.q_size());
    grow(w.kv, int64_t{layer.page_heads()} * layer.page_key_dim());
    grow(w.attended, int64_t{layer.n_heads} * layer.page_value_dim());
    if (layer.norm_placement != NormPlacement::kPre) {
      grow(w.branch, config.hidden_size);
    }
    if (layer.parallel && layer.own_ffn_norm) {
      grow(w.ffn_in, config.hidden_size);
    }
    if (layer.latent) {
      add_latent(w, layer);
    }
    if (layer.experts) {
      add_experts(w, *layer.experts, config.hidden_size);
    } else {
      grow(w.ffn, layer.ffn_size);
    }
  }
  return w;
}

// Either counts bytes or takes them.
class Taker {
 public:
  explicit Taker(MemoryPool* pool) : pool_(pool) {}

  ops::Rows rows(int64_t n_rows, int64_t n_cols) {
    if (n_cols == 0) {
      return {};
    }
    return {floats(n_rows * n_cols), n_rows, n_cols, n_cols};
  }

  float* floats(int64_t count) { return array<float>(count).data(); }

  template <class T>
  std::span<T> array(int64_t count) {
    if (count == 0) {
      return {};
    }
    const auto n = static_cast<size_t>(count);
    bytes_ += MemoryPool::padded_bytes(n * sizeof(T));
    return pool_ == nullptr ? std::span<T>() : pool_->allocate_array<T>(n);
  }

  ops::PackedRows packed(int64_t n_rows, int64_t n_cols, ops::RowForms forms) {
    if (n_cols == 0) {
      return {};
    }
    bytes_ += ops::PackedRows::bytes(n_rows, n_cols, forms);
    return pool_ == nullptr ? ops::PackedRows() : ops::PackedRows(*pool_, n_rows, n_cols, forms);
  }

  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  MemoryPool* pool_;
  size_t bytes_ = 0;
};

void take_latent(Taker& taker, StepBuffers& b, const Widths& w, const ModelWeightTypes& types,
                 int64_t n) {
  b.q_latent = taker.rows(n, w.q_rank);
  b.q_absorbed = taker.rows(n, w.absorbed);
  b.values = taker.rows(n, w.values);
  b.q_latent_packed = taker.packed(n, w.q_rank, types.q_latent_in);
  b.nope_packed = taker.packed(n * w.n_heads, w.nope, types.nope_in);
  b.latent_packed = taker.packed(n * w.n_heads, w.latent, types.latent_out_in);
}

void take_experts(Taker& taker, StepBuffers& b, const Widths& w, const ModelConfig& config,
                  const ModelWeightTypes& types, int64_t n) {
  if (w.n_experts == 0) {
    return;
  }
  const int64_t n_pairs = n * w.n_used;
  b.expert_normed = taker.rows(n, config.hidden_size);
  b.router_logits = taker.rows(n, w.n_experts);
  b.shared_gate = taker.rows(n, w.shared_gate);
  b.shared_out = taker.rows(n, w.shared);
  b.expert_out = taker.rows(n_pairs, config.hidden_size);
  b.router_in = taker.packed(n, config.hidden_size, types.router_in);
  b.expert_in = taker.packed(n_pairs, config.hidden_size, types.expert_in);
  b.expert_hidden = taker.packed(n_pairs, w.expert_ffn, types.expert_down_in);
  b.shared_hidden = taker.packed(n, w.shared_ffn, types.down_in);
  b.expert_ids = taker.array<int32_t>(n_pairs);
  b.token_of = taker.array<int32_t>(n_pairs);
  b.row_of = taker.array<int32_t>(n_pairs);
  b.expert_weights = taker.array<float>(n_pairs);
}

void take_adapters(Taker& taker, StepBuffers& b, const Widths& w, const ModelWeightTypes& types,
                   int64_t n) {
  b.low_rank = taker.rows(n, types.lora_rank);
  b.low_rank_packed = taker.packed(n, types.lora_rank, types.low_rank_in);
  const int64_t ffn = types.lora_on_ffn ? w.ffn : 0;
  b.gate = taker.rows(n, ffn);
  b.up = taker.rows(n, ffn);
}

StepBuffers take_buffers(Taker& taker, const ModelConfig& config, const ModelWeightTypes& types,
                         const StepLimits& limits) {
  const Widths w = widths_of(config);
  const int64_t n = limits.max_tokens;
  const int64_t hidden = config.hidden_size;
  const int64_t projected = config.embed_width() != hidden ? config.embed_width() : 0;
  StepBuffers b;
  b.x = taker.rows(n, hidden);
  b.branch = taker.rows(n, w.branch);
  b.q = taker.rows(n, w.q);
  b.k = taker.rows(n, w.kv);
  b.v = taker.rows(n, w.n_heads > 0 ? 0 : w.kv);
  b.attended = taker.rows(n, w.attended);
  b.last = taker.rows(limits.max_logits, hidden);
  b.embedded = taker.rows(n, projected);
  b.projected = taker.rows(limits.max_logits, projected);
  b.normed = taker.packed(n, hidden, types.hidden_in);
  b.ffn_in = taker.packed(n, w.ffn_in, types.hidden_in);
  b.attended_packed = taker.packed(n, w.values > 0 ? w.values : w.attended, types.output_in);
  b.ffn_hidden = taker.packed(n, w.ffn, types.down_in);
  b.last_packed =
      taker.packed(limits.max_logits, hidden, projected > 0 ? types.last_in : types.head_in);
  b.embedded_packed = taker.packed(n, projected, types.embed_in);
  b.projected_packed = taker.packed(limits.max_logits, projected, types.head_in);
  take_latent(taker, b, w, types, n);
  take_experts(taker, b, w, config, types, n);
  const int64_t n_runs = std::max(w.n_experts, w.n_heads);
  b.first_rows = taker.array<int64_t>(n_runs > 0 ? n_runs + 1 : 0);
  take_adapters(taker, b, w, types, n);
  for (const RopeOptions& rope : config.ropes) {
    b.rope_cos.push_back(taker.floats(n * rope.rotary_dim / 2));
    b.rope_sin.push_back(taker.floats(n * rope.rotary_dim / 2));
  }
  return b;
}

}  // namespace

StepBuffers take_step_buffers(MemoryPool& pool, const ModelConfig& config,
                              const ModelWeightTypes& types, const StepLimits& limits) {
  Taker taker(&pool);
  return take_buffers(taker, config, types, limits);
}

size_t step_buffer_bytes(const ModelConfig& config, const ModelWeightTypes& types,
                         const StepLimits& limits) {
  Taker taker(nullptr);
  take_buffers(taker, config, types, limits);
  return taker.bytes();
}

void cut_to_step(StepBuffers& b, int64_t n_tokens, int64_t n_logits,
                 std::span<const bool> fast_rows) {
  for (ops::Rows* rows : {&b.x, &b.branch, &b.q, &b.k, &b.v, &b.attended, &b.embedded, &b.q_latent,
                          &b.q_absorbed, &b.values, &b.expert_normed, &b.router_logits,
                          &b.shared_gate, &b.shared_out, &b.low_rank, &b.gate, &b.up}) {
    rows->n_rows = rows->data != nullptr ? n_tokens : 0;
  }
  for (ops::PackedRows* rows :
       {&b.normed, &b.attended_packed, &b.ffn_hidden, &b.ffn_in, &b.embedded_packed,
        &b.q_latent_packed, &b.nope_packed, &b.latent_packed, &b.router_in, &b.expert_in,
        &b.expert_hidden, &b.shared_hidden, &b.low_rank_packed}) {
    rows->set_coarse_tokens(fast_rows);
  }
  b.last.n_rows = n_logits;
  b.projected.n_rows = n_logits;
}

}  // namespace fathom::model
