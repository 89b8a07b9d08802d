// The policy of one step.
#include "engine/scheduler.h"

#include <algorithm>

namespace fathom::engine {

std::vector<Share> schedule(std::span<const Pending> running, int64_t budget) {
  std::vector<Share> shares;
  const auto take = [&](bool generating) {
    for (size_t i = 0; i < running.size() && budget > 0; ++i) {
      const int64_t waiting = running[i].n_tokens - running[i].num_computed;
      if (running[i].is_generating != generating || waiting <= 0) {
        continue;
      }
      const int64_t n_rows = std::min(waiting, budget);
      shares.push_back({i, n_rows, n_rows == waiting});
      budget -= n_rows;
    }
  };
  take(true);
  take(false);
  return shares;
}

}  // namespace fathom::engine
