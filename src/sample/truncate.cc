// Top-k by a bounded heap, top-p over a prefix that is sorted only as far as needed, min-p as a
// threshold. Read next: sample/sampler.cc.
#include "sample/truncate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "base/det_math.h"

namespace fathom::sample {

namespace {

constexpr size_t kChunk = 256;        // weights at a time
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
  const Candidate candidate = {0, value};
  double weight = 0.0;
  weights_of(&candidate, 1, best, &weight);
  return weight;
}

void weights_of(const Candidate* candidates, size_t n, float best, double* weights) {
  for (size_t i = 0; i < n; ++i) {
    // The difference of equal infinities is NaN.
    weights[i] = candidates[i].second == best
                     ? 0.0
                     : static_cast<double>(candidates[i].second) - static_cast<double>(best);
  }
  det_exp_many(weights, static_cast<int64_t>(n), weights);
}

double total_weight(const std::vector<Candidate>& candidates, float best) {
  std::array<double, kChunk> weights;
  double total = 0.0;
  for (size_t start = 0; start < candidates.size(); start += kChunk) {
    const size_t n = std::min(kChunk, candidates.size() - start);
    weights_of(candidates.data() + start, n, best, weights.data());
    for (size_t i = 0; i < n; ++i) {
      total += weights[i];
    }
  }
  return total;
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
  const double wanted = static_cast<double>(p) * total_weight(candidates, best);
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
  std::array<double, kChunk> weights;
  size_t n_kept = 0;
  for (size_t start = 0; start < candidates.size(); start += kChunk) {
    const size_t n = std::min(kChunk, candidates.size() - start);
    weights_of(candidates.data() + start, n, best, weights.data());
    for (size_t i = 0; i < n; ++i) {
      candidates[n_kept] = candidates[start + i];
      n_kept += weights[i] < static_cast<double>(min_p) ? 0 : 1;
    }
  }
  candidates.resize(n_kept);
}

}  // namespace fathom::sample
