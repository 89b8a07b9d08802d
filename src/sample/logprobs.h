// Log-probabilities of a drawn token and of the best ones: of the model's own distribution, or of
// what the chain made of it.
// Called by sample/sampler. Read next: sample/sampler.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sample/sampler.h"
#include "sample/truncate.h"

namespace fathom::sample {

// Fills in sampled.logprob and the `n_best` best: softmax over all logits [n_vocab], NaN counting
// as -inf. Before bias, penalties, temperature and cuts.
void add_raw_logprobs(std::span<const float> logits, int n_best, Sampled& sampled);

// The same over the candidates that the chain has left, with their values as they are now. Those of
// probability zero are no candidates; sampled.id is one.
void add_chain_logprobs(std::span<const Candidate> candidates, int n_best, Sampled& sampled);

// What the token `id` is worth to these logits, as add_raw_logprobs says it: for tokens that were
// not drawn, such as a prompt's.
Sampled score(std::span<const float> logits, int32_t id, int n_best);

}  // namespace fathom::sample
