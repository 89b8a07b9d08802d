// The trunk: what happens before the first and behind the last layer.
#include "model/model.h"

#include <cstring>

#include "base/check.h"
#include "model/layer.h"
#include "model/rope.h"

namespace fathom::model {

Model::Model(const ModelWeights& weights, ops::Backend& backend, const kv::PagePool& pages,
             MemoryPool& scratch, const StepLimits& limits)
    : weights_(&weights),
      backend_(&backend),
      pages_(&pages),
      limits_(limits),
      buffers_(take_step_buffers(scratch, weights.config, weights.types, limits)),
      ropes_(weights.config.ropes, weights.rope_divisors, scratch) {}

void Model::forward(const StepInput& input, const ops::Rows& logits) {
  const ModelConfig& config = weights_->config;
  const auto n_tokens = static_cast<int64_t>(input.token_ids.size());
  const auto n_logits = static_cast<int64_t>(input.logit_rows.size());
  FATHOM_CHECK(n_tokens > 0 && n_tokens <= limits_.max_tokens);
  FATHOM_CHECK(n_logits <= limits_.max_logits);
  FATHOM_CHECK(static_cast<int64_t>(input.positions.size()) == n_tokens);
  FATHOM_CHECK(logits.n_rows >= n_logits && logits.n_cols == config.n_vocab);
  FATHOM_CHECK(input.fast_rows.empty() || std::ssize(input.fast_rows) == n_tokens);
  cut_to_step(buffers_, n_tokens, n_logits, input.fast_rows);
  embed(input);
  fill_ropes(input);
  LayerStep step = {weights_, backend_, pages_, &input, &buffers_, limits_.attention, 0};
  for (int64_t layer = 0; layer < config.n_layers; ++layer) {
    step.layer = static_cast<int>(layer);
    run_layer(step);
  }
  if (n_logits > 0) {
    write_logits(input, logits);
  }
}

void Model::embed(const StepInput& input) {
  const ModelConfig& config = weights_->config;
  StepBuffers& b = buffers_;
  const auto scale = static_cast<float>(config.embed_scale);
  if (b.embedded.data != nullptr) {
    backend_->embed(weights_->embedding, input.token_ids, scale, b.embedded, {-1, "embed"});
    backend_->pack(b.embedded, b.embedded_packed, {-1, "embed_packed"});
    const ops::LinearPart project = {weights_->project_in, nullptr, b.x, "project_in"};
    backend_->linear(b.embedded_packed, {&project, 1}, ops::Epilogue::kStore, -1);
  } else {
    backend_->embed(weights_->embedding, input.token_ids, scale, b.x, {-1, "embed"});
  }
  if (config.n_positions > 0) {
    backend_->add_positions(weights_->positions, input.positions, config.position_offset, b.x,
                            {-1, "positions"});
  }
  if (config.embed_norm) {
    backend_->norm(b.x, norm_of(config, weights_->embed_norm), b.x, {-1, "embed_norm"});
  }
}

// cos and sin of every row; kinds that depend on the length have a table for each sequence.
void Model::fill_ropes(const StepInput& input) {
  const ModelConfig& config = weights_->config;
  for (size_t kind = 0; kind < config.ropes.size(); ++kind) {
    const RopeOptions& rope = config.ropes[kind];
    float* cos = buffers_.rope_cos[kind];
    float* sin = buffers_.rope_sin[kind];
    const auto magnitude = static_cast<float>(rope.magnitude);
    if (!depends_on_length(rope)) {
      backend_->fill_rope(input.positions, ropes_.inv_freq(kind, 0), magnitude, cos, sin);
      continue;
    }
    for (const ops::SequenceRows& sequence : input.sequences) {
      const auto first = static_cast<size_t>(sequence.first_row);
      const int64_t offset = sequence.first_row * rope.rotary_dim / 2;
      backend_->fill_rope(input.positions.subspan(first, static_cast<size_t>(sequence.n_rows)),
                          ropes_.inv_freq(kind, sequence.rope_length), magnitude, cos + offset,
                          sin + offset);
    }
  }
}

void Model::write_logits(const StepInput& input, ops::Rows logits) {
  const ModelConfig& config = weights_->config;
  StepBuffers& b = buffers_;
  logits.n_rows = b.last.n_rows;
  for (int64_t i = 0; i < b.last.n_rows; ++i) {
    std::memcpy(b.last.row(i), b.x.row(input.logit_rows[static_cast<size_t>(i)]),
                static_cast<size_t>(config.hidden_size) * sizeof(float));
  }
  if (config.hidden_scale != 1.0) {
    if (config.last_norm) {
      backend_->norm(b.last, norm_of(config, weights_->last_norm), b.last,
                     {-1, "final_norm", input.logit_rows});
    }
    backend_->scale(b.last, static_cast<float>(config.hidden_scale),
                    {-1, "scaled_hidden", input.logit_rows});
    backend_->pack(b.last, b.last_packed, {-1, "last_packed", input.logit_rows});
  } else if (config.last_norm) {
    backend_->norm_pack(b.last, norm_of(config, weights_->last_norm), b.last_packed,
                        {-1, "final_norm", input.logit_rows});
  } else {
    backend_->pack(b.last, b.last_packed, {-1, "last_packed", input.logit_rows});
  }
  ops::PackedRows* head_in = &b.last_packed;
  if (b.projected.data != nullptr) {
    const ops::LinearPart project = {weights_->project_out, nullptr, b.projected, "project_out"};
    backend_->linear(b.last_packed, {&project, 1}, ops::Epilogue::kStore, -1);
    backend_->pack(b.projected, b.projected_packed, {-1, "projected_packed", input.logit_rows});
    head_in = &b.projected_packed;
  }
  const ops::LinearPart head = {weights_->head.matrix, weights_->head.bias, logits, "logits"};
  backend_->linear(*head_in, {&head, 1}, ops::Epilogue::kStore, -1);
  if (config.logit_scale != 1.0) {
    backend_->scale(logits, static_cast<float>(config.logit_scale),
                    {-1, "scaled_logits", input.logit_rows});
  }
  if (config.logit_soft_cap > 0) {
    backend_->soft_cap(logits, static_cast<float>(config.logit_soft_cap),
                       {-1, "capped_logits", input.logit_rows});
  }
  backend_->check_finite(logits, {-1, "logits", input.logit_rows});
}

}  // namespace fathom::model
