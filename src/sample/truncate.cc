// Top-k by a bounded heap, top-p over a prefix that is sorted only as far as needed, min-p as a
// threshold. Read next: sample/sampler.cc.
#include "sample/truncate.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "base/det_math.h"

namespace fathom::sample {

namespace {

constexpr double kSmallestExponent = -87.0;
constexpr size_t kFirstSorted = 256;  // top-p sorts this many first, then four times as many

// The k best of a few: a heap whose front is the worst one kept. Most of a large vocabulary fails
// the one comparison with the front.
void keep_by_heap(std::vector<Candidate>& candidates, size_t k) {
  const auto middle = candidates.begin() + static_cast<std::ptrdiff_t>(k);
  std::make_heap(candidates.begin(), middle, ranks_before);
  for (auto next = middle; next != candidates.end(); ++next) {
    if (ranks_before(*next, candidates.front())) {
      std::pop_heap(candidates.begin(), middle, ranks_before);
      *(middle - 1) = *next;
      std::push_heap(candidates.begin(), middle, ranks_before);
    }
  }
  candidates.resize(k);
  std::sort_heap(candidates.begin(), candidates.end(), ranks_before);
}

}  // namespace

double weight_of(float value, float best) {
  if (value == best) {
    return 1.0;
  }
  const double exponent = static_cast<double>(value) - static_cast<double>(best);
  return exponent >= kSmallestExponent ? det_exp(exponent) : 0.0;
}

float best_value(const std::vector<Candidate>& candidates) {
  float best = -std::numeric_limits<float>::infinity();
  for (const auto& [id, value] : candidates) {
    best = value > best ? value : best;
  }
  return best;
}

void keep_top_k(std::vector<Candidate>& candidates, int k) {
  if (k <= 0 || static_cast<size_t>(k) >= candidates.size()) {
    return;
  }
  const auto count = static_cast<size_t>(k);
  if (count <= 1024) {
    keep_by_heap(candidates, count);
    return;
  }
  const auto middle = candidates.begin() + k;
  std::nth_element(candidates.begin(), middle, candidates.end(), ranks_before);
  candidates.resize(count);
  std::sort(candidates.begin(), candidates.end(), ranks_before);
}

void keep_top_p(std::vector<Candidate>& candidates, float p) {
  if (p >= 1.0F || candidates.size() <= 1) {
    return;
  }
  const float best = best_value(candidates);
  double total = 0.0;
  for (const auto& [id, value] : candidates) {
    total += weight_of(value, best);
  }
  const double wanted = static_cast<double>(p) * total;
  double sum = 0.0;
  size_t sorted = 0;
  for (size_t kept = 0; kept < candidates.size(); ++kept) {
    if (kept == sorted) {
      const size_t until = std::min(candidates.size(), sorted == 0 ? kFirstSorted : 4 * sorted);
      std::partial_sort(candidates.begin() + static_cast<std::ptrdiff_t>(sorted),
                        candidates.begin() + static_cast<std::ptrdiff_t>(until), candidates.end(),
                        ranks_before);
      sorted = until;
    }
    sum += weight_of(candidates[kept].second, best);
    if (sum >= wanted) {
      candidates.resize(kept + 1);
      return;
    }
  }
  // Reached when the two sums, rounded in different orders, end apart: all are kept, all sorted.
}

void keep_min_p(std::vector<Candidate>& candidates, float min_p) {
  if (min_p <= 0.0F || candidates.empty()) {
    return;
  }
  const float best = best_value(candidates);
  std::erase_if(candidates, [&](const Candidate& candidate) {
    return weight_of(candidate.second, best) < static_cast<double>(min_p);
  });
}

}  // namespace fathom::sample
