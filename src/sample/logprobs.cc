// One sum of weights, in the order of the candidates, and logarithms against it.
// Read next: sample/sampler.cc, base/det_math.h.
#include "sample/logprobs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "base/det_math.h"

namespace fathom::sample {

namespace {

// Fills in what `sampled` asks for from candidates of any order, which are put into another.
void add_logprobs(std::vector<Candidate>& candidates, float drawn_value, int n_best,
                  Sampled& sampled) {
  const float best = best_value(candidates);
  const double log_total = det_log(total_weight(candidates, best));
  const auto logprob_of = [&](float value) {
    const double below =
        value == best ? 0.0 : static_cast<double>(value) - static_cast<double>(best);
    return static_cast<float>(below - log_total);
  };
  sampled.logprob = logprob_of(drawn_value);
  if (n_best == 0) {
    return;
  }
  const auto middle = candidates.begin() + std::min<std::ptrdiff_t>(n_best, std::ssize(candidates));
  std::partial_sort(candidates.begin(), middle, candidates.end(), ranks_before);
  for (auto entry = candidates.begin(); entry != middle; ++entry) {
    sampled.best.push_back({entry->first, logprob_of(entry->second)});
  }
}

}  // namespace

void add_raw_logprobs(std::span<const float> logits, int n_best, Sampled& sampled) {
  std::vector<Candidate> raw;
  raw.reserve(logits.size());
  for (const float logit : logits) {
    raw.emplace_back(static_cast<int32_t>(raw.size()),
                     std::isnan(logit) ? -std::numeric_limits<float>::infinity() : logit);
  }
  const float drawn = raw[static_cast<size_t>(sampled.id)].second;
  add_logprobs(raw, drawn, n_best, sampled);
}

void add_chain_logprobs(std::span<const Candidate> candidates, int n_best, Sampled& sampled) {
  std::vector<Candidate> left(candidates.begin(), candidates.end());
  const float best = best_value(left);
  std::erase_if(left, [&](const Candidate& entry) { return weight_of(entry.second, best) == 0.0; });
  float drawn = best;
  for (const auto& [id, value] : left) {
    drawn = id == sampled.id ? value : drawn;
  }
  add_logprobs(left, drawn, n_best, sampled);
}

Sampled score(std::span<const float> logits, int32_t id, int n_best) {
  Sampled sampled;
  sampled.id = id;
  add_raw_logprobs(logits, n_best, sampled);
  return sampled;
}

}  // namespace fathom::sample
