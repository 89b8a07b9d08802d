// The trunk: embed, layers, last norm, head.
// Called by engine/engine. Read next: model/layer.h, model/weights.h, model/load.h.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "kv/page_pool.h"
#include "model/buffers.h"
#include "model/config.h"
#include "model/rope_tables.h"
#include "model/step_input.h"
#include "model/weights.h"
#include "ops/backend.h"

namespace fathom::model {

class Model {
 public:
  // `scratch` gives the step buffers and the rotation tables. The weights, backend and pages must
  // outlive the model.
  Model(const ModelWeights& weights, ops::Backend& backend, const kv::PagePool& pages,
        MemoryPool& scratch, const StepLimits& limits);

  // What the constructor takes from the scratch pool.
  static size_t scratch_bytes(const ModelConfig& config, const ModelWeightTypes& types,
                              const StepLimits& limits) {
    return step_buffer_bytes(config, types, limits) + RopeTables::bytes(config.ropes);
  }

  // Runs all rows of `input`; logits [n_logits, n_vocab] of input.logit_rows go to `logits`. A NaN
  // or infinity is left to ops::Exec::take_fault, its row one of the batch.
  // Positions, pages and sizes must be right (FATHOM_CHECK): the engine made them.
  void forward(const StepInput& input, const ops::Rows& logits);

  [[nodiscard]] const ModelConfig& config() const { return weights_->config; }

  [[nodiscard]] const StepLimits& limits() const { return limits_; }

 private:
  void embed(const StepInput& input);
  void fill_ropes(const StepInput& input);
  void write_logits(const StepInput& input, ops::Rows logits);

  const ModelWeights* weights_;
  ops::Backend* backend_;
  const kv::PagePool* pages_;
  StepLimits limits_;
  StepBuffers buffers_;
  RopeTables ropes_;
};

}  // namespace fathom::model
