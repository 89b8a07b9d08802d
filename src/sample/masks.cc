// Words are compared with the end of the answer at every draw: they are few and short.
// Read next: sample/sampler.cc.
#include "sample/masks.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace fathom::sample {

namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

}  // namespace

void find_word_ends(std::span<const std::vector<int32_t>> words, std::span<const int32_t> answer,
                    std::vector<int32_t>& out) {
  for (const std::vector<int32_t>& word : words) {
    const size_t n_before = word.size() - 1;
    if (n_before <= answer.size() &&
        std::equal(word.begin(), word.end() - 1, answer.last(n_before).begin())) {
      out.push_back(word.back());
    }
  }
}

bool try_mask(std::span<const int32_t> ids, std::vector<Candidate>& candidates) {
  std::vector<std::pair<size_t, float>> before;  // place and value, to undo
  for (const int32_t id : ids) {
    const auto found = std::ranges::lower_bound(candidates, id, {}, &Candidate::first);
    if (found != candidates.end() && found->first == id) {
      before.emplace_back(static_cast<size_t>(found - candidates.begin()), found->second);
      found->second = kNever;
    }
  }
  if (std::ranges::any_of(candidates, [](const Candidate& c) { return c.second > kNever; })) {
    return true;
  }
  for (auto change = before.rbegin(); change != before.rend(); ++change) {
    candidates[change->first].second = change->second;
  }
  return false;
}

}  // namespace fathom::sample
