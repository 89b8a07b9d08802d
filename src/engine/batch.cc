// Positions follow from num_computed, slots from the page table: there is no second source.
#include "engine/batch.h"

#include "base/check.h"

namespace fathom::engine {

Batch::Batch(int64_t max_tokens, int64_t max_sequences, int64_t max_logits, bool fast_prompts) {
  if (fast_prompts) {
    fast_rows_ = std::make_unique<bool[]>(static_cast<size_t>(max_tokens));
  }
  token_ids_.reserve(static_cast<size_t>(max_tokens));
  positions_.reserve(static_cast<size_t>(max_tokens));
  sequences_.reserve(static_cast<size_t>(max_sequences));
  logit_rows_.reserve(static_cast<size_t>(max_logits));
}

void Batch::fill(const std::vector<BatchShare>& shares) {
  token_ids_.clear();
  positions_.clear();
  sequences_.clear();
  logit_rows_.clear();
  for (const BatchShare& share : shares) {
    Sequence& sequence = *share.sequence;
    const int64_t first = sequence.num_computed;
    FATHOM_CHECK(first + share.n_rows <= sequence.n_tokens());
    FATHOM_CHECK(first + share.n_rows <= sequence.pages().capacity());
    sequences_.push_back({static_cast<int64_t>(token_ids_.size()), share.n_rows, first,
                          sequence.pages().pages(), sequence.planned_length()});
    for (int64_t i = 0; i < share.n_rows; ++i) {
      if (fast_rows_) {
        fast_rows_[token_ids_.size()] = first + i < sequence.n_prompt_left();
      }
      token_ids_.push_back(sequence.tokens()[static_cast<size_t>(first + i)]);
      positions_.push_back(first + i);
    }
    const auto n_rows = static_cast<int64_t>(token_ids_.size());
    for (int64_t row = n_rows - share.n_logits; row < n_rows; ++row) {
      logit_rows_.push_back(row);
    }
  }
}

model::StepInput Batch::input() const {
  model::StepInput input = {token_ids_, positions_, sequences_, logit_rows_};
  if (fast_rows_) {
    input.fast_rows = {fast_rows_.get(), token_ids_.size()};
  }
  return input;
}

size_t Batch::share_of_row(int64_t row) const {
  for (size_t i = 0; i < sequences_.size(); ++i) {
    if (row < sequences_[i].first_row + sequences_[i].n_rows) {
      return i;
    }
  }
  FATHOM_CHECK(false);
  return 0;
}

}  // namespace fathom::engine
