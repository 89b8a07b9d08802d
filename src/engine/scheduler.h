// Who comes first, and with how many rows: generated tokens, then prompt chunks in order of
// admission, under a budget of rows. Pure arithmetic: no tensors, no pages.
// Called by engine/engine. Read next: engine/batch.h.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "engine/request.h"

namespace fathom::engine {

// The place of a request among all others, waiting or running: the smaller comes first, for
// admission, and is the last to give its pages away.
//
// A level of priority is worth `aging` steps: a request submitted at step s with priority p comes
// before one of (t, q) when p * aging + s < q * aging + t. So a waiting request gains a level on
// those that come later every `aging` steps, within a level the first comes first, and nobody is
// overtaken by a request that was submitted (p - q) * aging steps after it or later.
struct Rank {
  int64_t key = 0;
  RequestId id = 0;  // of two that came in the same step the first

  // The default compares with a zero of the compiler's own, which clang-tidy 14 takes for a
  // pointer. NOLINTNEXTLINE(modernize-use-nullptr)
  auto operator<=>(const Rank&) const = default;
};

Rank rank_of(int priority, int64_t submitted_step, int64_t aging, RequestId id);

// What the scheduler knows of a running sequence.
struct Pending {
  int64_t num_computed = 0;
  int64_t n_tokens = 0;  // rows num_computed .. n_tokens wait to be computed
  bool is_generating = false;
  int64_t max_rows = std::numeric_limits<int64_t>::max();  // in this step; 0: not now
  int64_t last_step = 0;  // when it last had rows: generating ones take turns
};

// Rows of one sequence in the step.
struct Share {
  size_t sequence = 0;     // index into the span given
  int64_t n_rows = 0;      // at least 1
  bool completes = false;  // all its tokens are computed afterwards: its logits are wanted
};

// Shares in the order of the batch; together at most `budget` rows. Generating sequences come
// first, those that have waited longest in front; one row is left to the first prompt, so that it
// goes on however many generate (unless the budget is a single row). Prompts follow in the order
// given.
std::vector<Share> schedule(std::span<const Pending> running, int64_t budget);

}  // namespace fathom::engine
