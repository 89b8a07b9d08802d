// The cuts of a sampler chain: they keep the likeliest candidates and drop the rest.
// Called by sample/sampler. Every order here is total (value down, then id up) and every sum runs
// in that order or in the order of ids, so the result is the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace fathom::sample {

// Token id and its value: a logit, no NaN (the sampler made those -inf).
using Candidate = std::pair<int32_t, float>;

// True when `a` is the better one: higher value, then lower id.
inline bool ranks_before(const Candidate& a, const Candidate& b) {
  return a.second > b.second || (a.second == b.second && a.first < b.first);
}

// Weight exp(value - best) of a candidate, in double: 1 for the best, 0 when more than 87 below it
// (the engine's exp). An infinite best gives 1 to its equals and 0 to all others.
double weight_of(float value, float best);

// weights[n] of the first candidates; the same bits as weight_of.
void weights_of(const Candidate* candidates, size_t n, float best, double* weights);

// Sum of the weights of all candidates, in their order.
double total_weight(const std::vector<Candidate>& candidates, float best);

// Largest value; candidates must not be empty.
float best_value(const std::vector<Candidate>& candidates);

// Keeps the k best, sorted. k <= 0 or k >= all: nothing changes.
void keep_top_k(std::vector<Candidate>& candidates, int k);

// Keeps the fewest best candidates whose probabilities reach p (at least one), sorted.
// p >= 1: nothing changes. Source: Holtzman et al., arXiv 1904.09751, section 3.1.
void keep_top_p(std::vector<Candidate>& candidates, float p);

// Keeps candidates at least min_p times as likely as the best; their order stays. min_p <= 0:
// nothing changes. Source: Nguyen et al., arXiv 2407.01082, section 3.
void keep_min_p(std::vector<Candidate>& candidates, float min_p);

}  // namespace fathom::sample
