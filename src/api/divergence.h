// How far the predictions of one run are from those of another: what quantizing a model, or
// computing it differently, changed.
// Called by apps/perplexity. Read next: api/saved_logprobs.h.
#pragma once

#include <cstdint>
#include <vector>

#include "api/perplexity.h"
#include "api/saved_logprobs.h"
#include "base/threads.h"

namespace fathom::api {

// KL divergence in nats of this run's distributions P from the saved ones Q, for every scored
// token: the sum over the vocabulary of Q * (ln Q - ln P).
struct DivergenceReport {
  int64_t n_tokens = 0;
  double mean = 0, median = 0, p99 = 0, max = 0;
  int64_t n_same_top = 0;  // tokens where both runs find the same token the likeliest

  // The token with the largest divergence (the first of several): what stood there, and how likely
  // each run found that.
  int64_t worst_index = 0;  // in ChunkedText::ids
  int32_t worst_id = 0;
  double worst_saved_probability = 0, worst_probability = 0;
  PerplexitySum saved;  // of the saved run, over the same tokens

  [[nodiscard]] double same_top_share() const {
    return static_cast<double>(n_same_top) / static_cast<double>(n_tokens);
  }
};

class DivergenceMeter {
 public:
  // `saved` must be of the same text (SavedLogProbs::require_same) and outlive the meter.
  explicit DivergenceMeter(const SavedLogProbs& saved) : saved_(&saved) {}

  // Compares rows, which come in the order of the text. Error: kCorruptFile for saved values that
  // are no log-probabilities (a NaN, or above 0), the token named.
  void add(const ScoredRows& rows, ThreadPool& threads);

  // Of all rows so far; there must be one (FATHOM_CHECK). The median and the 99 % point lie between
  // two tokens where need be, in proportion.
  [[nodiscard]] DivergenceReport report() const;

 private:
  // What one token gave.
  struct Token {
    double divergence = 0;
    bool same_top = false;
    bool is_sound = true;
  };

  static Token compare(std::span<const float> saved, std::span<const float> own);

  const SavedLogProbs* saved_;
  std::vector<double> divergences_;
  DivergenceReport sums_;
};

}  // namespace fathom::api
