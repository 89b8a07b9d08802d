// One draw: bias and penalties, then the cuts in the order of the chain, then a point on the line
// of the candidates' weights. Called by engine. Read next: sample/truncate.cc, sample/random.h.
#include "sample/sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "sample/logprobs.h"
#include "sample/masks.h"
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
  const double point = u * total_weight(candidates, best);
  double sum = 0.0;
  int32_t last = candidates.front().first;
  std::array<double, 256> weights;
  for (size_t start = 0; start < candidates.size(); start += weights.size()) {
    const size_t n = std::min(weights.size(), candidates.size() - start);
    weights_of(candidates.data() + start, n, best, weights.data());
    for (size_t i = 0; i < n; ++i) {
      sum += weights[i];
      last = weights[i] > 0.0 ? candidates[start + i].first : last;
      if (weights[i] > 0.0 && sum > point) {
        return last;
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

}  // namespace

std::vector<Step> default_chain() {
  return {Step::kPenalties, Step::kTopK, Step::kTopP, Step::kMinP, Step::kTemperature};
}

Sampler::Sampler(SamplingParams params, int64_t n_vocab)
    : params_(std::move(params)), counts_(static_cast<size_t>(n_vocab), 0) {
  std::vector<int32_t>& allowed = params_.allowed_ids;
  std::sort(allowed.begin(), allowed.end());
  allowed.erase(std::unique(allowed.begin(), allowed.end()), allowed.end());
  candidates_.reserve(allowed.empty() ? static_cast<size_t>(n_vocab) : allowed.size());
}

void Sampler::fill_candidates(std::span<const float> logits) {
  candidates_.clear();
  if (params_.allowed_ids.empty()) {
    for (const float logit : logits) {
      candidates_.emplace_back(static_cast<int32_t>(candidates_.size()), without_nan(logit));
    }
  } else {
    for (const int32_t id : params_.allowed_ids) {
      candidates_.emplace_back(id, without_nan(logits[static_cast<size_t>(id)]));
    }
  }
  for (const auto& [id, bias] : params_.logit_bias) {
    const auto found = std::ranges::lower_bound(candidates_, id, {}, &Candidate::first);
    if (found != candidates_.end() && found->first == id) {
      found->second = without_nan(found->second + bias);
    }
  }
}

void Sampler::mask(const Place& place) {
  if (!place.masked.empty()) {
    try_mask(place.masked, candidates_);
  }
  if (!params_.bad_words.empty()) {
    std::vector<int32_t> ends;
    find_word_ends(params_.bad_words, place.history.subspan(static_cast<size_t>(place.n_prompt)),
                   ends);
    try_mask(ends, candidates_);
  }
}

void Sampler::penalize(const Place& place) {
  const Penalties all = {params_.repeat_penalty, params_.presence_penalty,
                         params_.frequency_penalty, params_.penalty_window};
  if (!params_.penalize_answer_only) {
    apply_penalties(all, place.history, counts_, candidates_);
    return;
  }
  Penalties repeat = all;
  repeat.presence = repeat.frequency = 0.0F;
  Penalties answer = all;
  answer.repeat = 1.0F;
  apply_penalties(repeat, place.history, counts_, candidates_);
  apply_penalties(answer, place.history.subspan(static_cast<size_t>(place.n_prompt)), counts_,
                  candidates_);
}

void Sampler::run_chain(const Place& place, bool is_greedy) {
  for (const Step step : params_.chain) {
    if (is_greedy && step != Step::kPenalties) {
      continue;  // no cut drops the best one, and it is all that counts
    }
    switch (step) {
      case Step::kPenalties:
        penalize(place);
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
}

Sampled Sampler::sample(std::span<const float> logits, const Place& place) {
  FATHOM_CHECK(!logits.empty() && logits.size() == counts_.size());
  FATHOM_CHECK(place.n_prompt <= std::ssize(place.history));
  fill_candidates(logits);
  mask(place);
  const bool is_greedy = params_.temperature == 0.0F;
  run_chain(place, is_greedy);
  Sampled sampled;
  sampled.id = is_greedy ? best_id(candidates_)
                         : draw(candidates_, uniform(params_.seed, place.choice, place.position));
  if (params_.n_logprobs < 0) {
    return sampled;
  }
  if (!params_.chain_logprobs) {
    add_raw_logprobs(logits, params_.n_logprobs, sampled);
  } else if (is_greedy) {  // nothing else could be drawn
    const Candidate only = {sampled.id, 0.0F};
    add_chain_logprobs({&only, 1}, params_.n_logprobs, sampled);
  } else {
    add_chain_logprobs(candidates_, params_.n_logprobs, sampled);
  }
  return sampled;
}

}  // namespace fathom::sample
