// Repetition, presence and frequency penalties. Read next: sample/sampler.cc.
#include "sample/penalties.h"

#include <algorithm>
#include <cstddef>

namespace fathom::sample {

void apply_penalties(const Penalties& penalties, std::span<const int32_t> history,
                     std::span<int32_t> counts, std::span<Candidate> candidates) {
  if (penalties.is_off()) {
    return;
  }
  const size_t window = penalties.window < 0
                            ? history.size()
                            : std::min(history.size(), static_cast<size_t>(penalties.window));
  const auto recent = history.last(window);
  const auto is_counted = [&](int32_t id) {
    return id >= 0 && static_cast<size_t>(id) < counts.size();
  };
  for (const int32_t id : recent) {
    if (is_counted(id)) {
      ++counts[static_cast<size_t>(id)];
    }
  }
  for (auto& [id, value] : candidates) {
    const int32_t n = counts[static_cast<size_t>(id)];
    if (n > 0) {
      value = value > 0.0F ? value / penalties.repeat : value * penalties.repeat;
      value = value - static_cast<float>(n) * penalties.frequency - penalties.presence;
    }
  }
  for (const int32_t id : recent) {
    if (is_counted(id)) {
      counts[static_cast<size_t>(id)] = 0;
    }
  }
}

}  // namespace fathom::sample
