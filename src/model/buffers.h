// The rows that a step writes: taken once, for the largest step, from one pool.
// Called by model/model. Read next: model/layer.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/arena.h"
#include "model/config.h"
#include "model/weights.h"
#include "ops/packed_rows.h"
#include "ops/rows.h"

namespace fathom::model {

// Largest sizes of one step; buffers are taken for them once.
struct StepLimits {
  int64_t max_tokens = 512;  // rows of one step
  int64_t max_logits = 1;    // rows whose logits are wanted
  ops::AttentionKind attention = ops::AttentionKind::kFlash;
};

// Buffers that a model does not need have no rows.
struct StepBuffers {
  ops::Rows x;          // [max_tokens, hidden]  the residual stream
  ops::Rows branch;     // [max_tokens, hidden]  a branch's output on its way to the sum
  ops::Rows q, k, v;    // latent attention: k is [latent | rope], v a view of its first part
  ops::Rows attended;   // [max_tokens, n_heads * page_value_dim]
  ops::Rows last;       // [max_logits, hidden]
  ops::Rows embedded;   // [max_tokens, embed_width]  where it is projected
  ops::Rows projected;  // [max_logits, embed_width]
  ops::PackedRows normed, attended_packed, ffn_hidden, last_packed;
  ops::PackedRows ffn_in;  // parallel layers with two norms
  ops::PackedRows embedded_packed, projected_packed;
  // latent attention
  ops::Rows q_latent;    // [max_tokens, q_rank]
  ops::Rows q_absorbed;  // [max_tokens, n_heads * (kv_rank + rope_dim)]
  ops::Rows values;      // [max_tokens, n_heads * value_dim]
  ops::PackedRows q_latent_packed;
  ops::PackedRows nope_packed;    // [n_heads * max_tokens, nope_dim]
  ops::PackedRows latent_packed;  // [n_heads * max_tokens, kv_rank]
  // experts
  ops::Rows expert_normed;  // [max_tokens, hidden]
  ops::Rows router_logits;  // [max_tokens, n_experts]
  ops::Rows shared_gate;    // [max_tokens, 1]
  ops::Rows shared_out;     // [max_tokens, hidden]
  ops::Rows expert_out;     // [max_tokens * n_used, hidden]
  ops::PackedRows router_in, expert_in, expert_hidden, shared_hidden;
  std::span<int32_t> expert_ids, token_of, row_of;  // [max_tokens * n_used]
  std::span<float> expert_weights;
  std::span<int64_t> first_rows;  // [largest number of experts or heads, + 1]
  // adapters
  ops::Rows low_rank;  // [max_tokens, lora_rank]
  ops::PackedRows low_rank_packed;
  ops::Rows gate, up;                      // [max_tokens, ffn]
  std::vector<float*> rope_cos, rope_sin;  // per kind of rope: [max_tokens, n_pairs]
};

StepBuffers take_step_buffers(MemoryPool& pool, const ModelConfig& config,
                              const ModelWeightTypes& types, const StepLimits& limits);

// What take_step_buffers takes from the pool.
size_t step_buffer_bytes(const ModelConfig& config, const ModelWeightTypes& types,
                         const StepLimits& limits);

// The same buffers, cut to the rows of this step. `fast_rows`: as in StepInput.
void cut_to_step(StepBuffers& buffers, int64_t n_tokens, int64_t n_logits,
                 std::span<const bool> fast_rows = {});

}  // namespace fathom::model
