// What the step loop needs of a model: one forward pass over a batch. The seam through which tests
// put a toy in its place.
// Called by engine/engine. Read next: model/model.h. Thread rule: the step thread.
#pragma once

#include <cstdint>
#include <optional>

#include "base/threads.h"
#include "model/model.h"
#include "model/step_input.h"
#include "ops/exec.h"
#include "ops/rows.h"

namespace fathom::engine {

class StepModel {
 public:
  virtual ~StepModel() = default;

  // Runs all rows of `input`; logits [n_logits, n_vocab] of input.logit_rows go to `logits`.
  virtual void forward(const model::StepInput& input, const ops::Rows& logits) = 0;

  // The NaN or infinity that the last forward pass met first, if any; its row is one of the batch.
  virtual std::optional<ops::NumericFault> take_fault() = 0;

  // Calls function(i, worker) for every i in [0, n), possibly side by side; it must not throw.
  virtual void run_units(int64_t n, UnitFunction function) {
    for (int64_t i = 0; i < n; ++i) {
      function(i, 0);
    }
  }

  // The four below are fixed and may be asked from any thread.
  [[nodiscard]] virtual int64_t n_vocab() const = 0;
  [[nodiscard]] virtual model::StepLimits limits() const = 0;

  // Whether a longer context than this could be asked for.
  [[nodiscard]] virtual bool allows_more_than(int64_t context) const = 0;

  // Names the rotations that a sequence of this planned length gets; see kv::PageHeader.
  [[nodiscard]] virtual int64_t rope_id(int64_t planned_length) const = 0;
};

// The real one.
class LoadedStepModel final : public StepModel {
 public:
  // Both must outlive it.
  LoadedStepModel(model::Model& model, ops::Exec& exec) : model_(&model), exec_(&exec) {}

  void forward(const model::StepInput& input, const ops::Rows& logits) override;
  std::optional<ops::NumericFault> take_fault() override;
  void run_units(int64_t n, UnitFunction function) override;
  [[nodiscard]] int64_t n_vocab() const override;
  [[nodiscard]] model::StepLimits limits() const override;
  [[nodiscard]] bool allows_more_than(int64_t context) const override;
  [[nodiscard]] int64_t rope_id(int64_t planned_length) const override;

 private:
  model::Model* model_;
  ops::Exec* exec_;
};

}  // namespace fathom::engine
