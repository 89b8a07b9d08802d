// The loaded model behind the seam: every call is handed on.
#include "engine/step_model.h"

#include "model/rope.h"

namespace fathom::engine {

void LoadedStepModel::forward(const model::StepInput& input, const ops::Rows& logits) {
  model_->forward(input, logits);
}

std::optional<ops::NumericFault> LoadedStepModel::take_fault() {
  return exec_->take_fault();
}

void LoadedStepModel::run_units(int64_t n, UnitFunction function) {
  exec_->threads().run(n, function);
}

int64_t LoadedStepModel::n_vocab() const {
  return model_->config().n_vocab;
}

model::StepLimits LoadedStepModel::limits() const {
  return model_->limits();
}

bool LoadedStepModel::allows_more_than(int64_t context) const {
  return model_->config().allows_more_than(context);
}

int64_t LoadedStepModel::rope_id(int64_t planned_length) const {
  return model::rope_id(model_->config(), planned_length);
}

}  // namespace fathom::engine
