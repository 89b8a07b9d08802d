// Who runs in the next step and with how many rows: generated tokens first, then prompt chunks in
// order of arrival, under a budget of rows. Pure arithmetic: no tensors, no pages.
// Called by engine/engine. Read next: engine/batch.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fathom::engine {

// What the scheduler knows of a running sequence.
struct Pending {
  int64_t num_computed = 0;
  int64_t n_tokens = 0;  // rows num_computed .. n_tokens wait to be computed
  bool is_generating = false;
};

// Rows of one sequence in the step.
struct Share {
  size_t sequence = 0;     // index into the span given
  int64_t n_rows = 0;      // at least 1
  bool completes = false;  // all its tokens are computed afterwards: its logits are wanted
};

// Shares in the order of the batch; together at most `budget` rows. Every sequence with something
// to compute comes first in line again until it got rows: nobody starves.
std::vector<Share> schedule(std::span<const Pending> running, int64_t budget);

}  // namespace fathom::engine
