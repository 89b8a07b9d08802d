// One draw: bias and penalties, then the cuts in the order of the chain, then a point on the line
// of the candidates' weights. Called by engine. Read next: sample/truncate.cc, sample/random.h.
#include "sample/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/det_math.h"
#include "sample/penalties.h"
#include "sample/random.h"
#include "sample/truncate.h"

namespace fathom::sample {

namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

float without_nan(float value) {
  if (std::isnan(value)) {
    return kNever;
  }
  return value;
}

// The candidate in whose stretch the point u * total lies, 0 <= u < 1; one of weight zero is never
// drawn. Sums run in the order of the candidates, which the chain fixed.
int32_t draw(const std::vector<Candidate>& candidates, double u) {
  const float best = best_value(candidates);
  double total = 0.0;
  for (const auto& [id, value] : candidates) {
    total += weight_of(value, best);
  }
  const double point = u * total;
  double sum = 0.0;
  int32_t last = candidates.front().first;
  for (const auto& [id, value] : candidates) {
    const double weight = weight_of(value, best);
    sum += weight;
    if (weight > 0.0) {
      last = id;
      if (sum > point) {
        return id;
      }
    }
  }
  return last;
}

// Where the best quotient overflows the others count for nothing, as near temperature 0.
void divide_by(float temperature, std::vector<Candidate>& candidates) {
  const float best = best_value(candidates);
  const bool overflows = std::isfinite(best) && std::isinf(best / temperature);
  for (auto& [id, value] : candidates) {
    const bool is_lost = overflows && value < best;
    value = is_lost ? kNever : value / temperature;
  }
}

int32_t best_id(const std::vector<Candidate>& candidates) {
  return std::min_element(candidates.begin(), candidates.end(), ranks_before)->first;
}

// Log-probabilities of the raw distribution: the drawn token's, and the n best.
void add_logprobs(std::span<const float> logits, int n_best, Sampled& sampled) {
  std::vector<Candidate> raw;
  raw.reserve(logits.size());
  for (const float logit : logits) {
    raw.emplace_back(static_cast<int32_t>(raw.size()), without_nan(logit));
  }
  const float best = best_value(raw);
  double total = 0.0;
  for (const auto& [id, value] : raw) {
    total += weight_of(value, best);
  }
  const double log_total = det_log(total);
  const auto logprob_of = [&](float value) {
    const double below =
        value == best ? 0.0 : static_cast<double>(value) - static_cast<double>(best);
    return static_cast<float>(below - log_total);
  };
  sampled.logprob = logprob_of(raw[static_cast<size_t>(sampled.id)].second);
  if (n_best == 0) {
    return;
  }
  const auto middle = raw.begin() + std::min<std::ptrdiff_t>(n_best, std::ssize(raw));
  std::partial_sort(raw.begin(), middle, raw.end(), ranks_before);
  for (auto entry = raw.begin(); entry != middle; ++entry) {
    sampled.best.push_back({entry->first, logprob_of(entry->second)});
  }
}

}  // namespace

std::vector<Step> default_chain() {
  return {Step::kPenalties, Step::kTopK, Step::kTopP, Step::kMinP, Step::kTemperature};
}

Sampler::Sampler(SamplingParams params, int64_t n_vocab)
    : params_(std::move(params)), counts_(static_cast<size_t>(n_vocab), 0) {
  candidates_.reserve(static_cast<size_t>(n_vocab));
}

void Sampler::fill_candidates(std::span<const float> logits) {
  candidates_.clear();
  for (const float logit : logits) {
    candidates_.emplace_back(static_cast<int32_t>(candidates_.size()), without_nan(logit));
  }
  for (const auto& [id, bias] : params_.logit_bias) {
    float& value = candidates_[static_cast<size_t>(id)].second;
    value = without_nan(value + bias);
  }
}

Sampled Sampler::sample(std::span<const float> logits, std::span<const int32_t> history,
                        int64_t position, uint32_t choice) {
  FATHOM_CHECK(!logits.empty() && logits.size() == counts_.size());
  fill_candidates(logits);
  const bool is_greedy = params_.temperature == 0.0F;
  for (const Step step : params_.chain) {
    if (is_greedy && step != Step::kPenalties) {
      continue;  // no cut drops the best one, and it is all that counts
    }
    switch (step) {
      case Step::kPenalties:
        apply_penalties({params_.repeat_penalty, params_.presence_penalty,
                         params_.frequency_penalty, params_.penalty_window},
                        history, counts_, candidates_);
        break;
      case Step::kTemperature:
        divide_by(params_.temperature, candidates_);
        break;
      case Step::kTopK:
        keep_top_k(candidates_, params_.top_k);
        break;
      case Step::kTopP:
        keep_top_p(candidates_, params_.top_p);
        break;
      case Step::kMinP:
        keep_min_p(candidates_, params_.min_p);
        break;
    }
  }
  Sampled sampled;
  sampled.id =
      is_greedy ? best_id(candidates_) : draw(candidates_, uniform(params_.seed, choice, position));
  if (params_.n_logprobs >= 0) {
    add_logprobs(logits, params_.n_logprobs, sampled);
  }
  return sampled;
}

}  // namespace fathom::sample
