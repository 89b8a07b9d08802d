// The policy of one step.
#include "engine/scheduler.h"

#include <algorithm>

namespace fathom::engine {

namespace {

int64_t rows_now(const Pending& pending) {
  return std::min(pending.n_tokens - pending.num_computed, pending.max_rows);
}

// Indices of those that have something to do now and generate, or do not.
std::vector<size_t> choose(std::span<const Pending> running, bool generating) {
  std::vector<size_t> chosen;
  for (size_t i = 0; i < running.size(); ++i) {
    if (running[i].is_generating == generating && rows_now(running[i]) > 0) {
      chosen.push_back(i);
    }
  }
  return chosen;
}

}  // namespace

Rank rank_of(int priority, int64_t submitted_step, int64_t aging, RequestId id) {
  return {priority * aging + submitted_step, id};
}

std::vector<Share> schedule(std::span<const Pending> running, int64_t budget) {
  std::vector<Share> shares;
  const auto take = [&](const std::vector<size_t>& chosen, int64_t limit) {
    for (size_t i = 0; i < chosen.size() && limit > 0; ++i) {
      const Pending& pending = running[chosen[i]];
      const int64_t n_rows = std::min(rows_now(pending), limit);
      shares.push_back({chosen[i], n_rows, pending.num_computed + n_rows == pending.n_tokens});
      limit -= n_rows;
      budget -= n_rows;
    }
  };
  std::vector<size_t> generating = choose(running, true);
  const std::vector<size_t> prompts = choose(running, false);
  std::ranges::stable_sort(generating, {}, [&](size_t i) { return running[i].last_step; });
  take(generating, prompts.empty() || budget == 1 ? budget : budget - 1);
  take(prompts, budget);
  return shares;
}

}  // namespace fathom::engine
