// The trunk: embed, layers, last norm, head.
// Called by engine/engine. Read next: model/layer.h, model/weights.h, model/load.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/arena.h"
#include "kv/page_pool.h"
#include "model/config.h"
#include "model/step_input.h"
#include "model/weights.h"
#include "ops/backend.h"
#include "ops/packed_rows.h"

namespace fathom::model {

// Largest sizes of one step; buffers are taken for them once.
struct StepLimits {
  int64_t max_tokens = 512;  // rows of one step
  int64_t max_logits = 1;    // rows whose logits are wanted
  ops::AttentionKind attention = ops::AttentionKind::kFlash;
};

// Float rows and packed rows that a step writes; all from one pool, taken once.
struct StepBuffers {
  ops::Rows x;       // [max_tokens, hidden]  the residual stream
  ops::Rows branch;  // [max_tokens, hidden]  a branch's output where it is normed before the sum
  ops::Rows q, k, v;
  ops::Rows attended;  // [max_tokens, n_heads * head_dim]
  ops::Rows last;      // [max_logits, hidden]
  ops::PackedRows normed, attended_packed, ffn_hidden, last_packed;
  std::vector<float*> rope_cos, rope_sin;  // per kind of rope: [max_tokens, n_pairs]
};

class Model {
 public:
  // `scratch` gives the step buffers. The weights, backend and pages must outlive the model.
  Model(const ModelWeights& weights, ops::Backend& backend, const kv::PagePool& pages,
        MemoryPool& scratch, const StepLimits& limits);

  // What the constructor takes from the scratch pool.
  static size_t scratch_bytes(const ModelConfig& config, const ModelWeightTypes& types,
                              const StepLimits& limits);

  // Runs all rows of `input`; logits [n_logits, n_vocab] of input.logit_rows go to `logits`.
  // Positions, pages and sizes must be right (FATHOM_CHECK): the engine made them.
  void forward(const StepInput& input, const ops::Rows& logits);

  [[nodiscard]] const ModelConfig& config() const { return weights_->config; }

  [[nodiscard]] const StepLimits& limits() const { return limits_; }

 private:
  const ModelWeights* weights_;
  ops::Backend* backend_;
  const kv::PagePool* pages_;
  StepLimits limits_;
  StepBuffers buffers_;
};

}  // namespace fathom::model
