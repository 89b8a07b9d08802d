// The flat arrays of one step, filled from the sequences that the scheduler chose.
// Called by engine/engine. Read next: model/step_input.h.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/sequence.h"
#include "model/step_input.h"
#include "ops/rows.h"

namespace fathom::engine {

// Rows of one sequence, from num_computed on.
struct BatchShare {
  Sequence* sequence = nullptr;
  int64_t n_rows = 0;
  bool completes = false;
  int64_t n_logits = 0;  // of the last rows the logits are wanted; at least 1 where it completes
};

class Batch {
 public:
  // Room for the largest step, so that filling never allocates.
  // `fast_prompts`: rows of prompts are marked, see StepInput::fast_rows.
  Batch(int64_t max_tokens, int64_t max_sequences, int64_t max_logits, bool fast_prompts = false);

  void fill(const std::vector<BatchShare>& shares);

  // Valid until the next fill() and while the sequences keep their pages.
  [[nodiscard]] model::StepInput input() const;

  // The share that owns batch row `row`.
  [[nodiscard]] size_t share_of_row(int64_t row) const;

 private:
  std::vector<int32_t> token_ids_;
  std::vector<int64_t> positions_;
  std::vector<ops::SequenceRows> sequences_;
  std::vector<int64_t> logit_rows_;
  std::unique_ptr<bool[]> fast_rows_;  // [max_tokens]; null: no row is fast
};

}  // namespace fathom::engine
