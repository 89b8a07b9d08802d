// Logits to the next token: a chain of steps given as data, and a counter-based generator so that a
// seed gives the same text alone, in any batch and after any restart.
// Called by engine (one Sampler per sequence). Read next: sample/truncate.h, sample/random.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fathom::sample {

enum class Step : uint8_t { kPenalties, kTemperature, kTopK, kTopP, kMinP };

// "penalties", "temperature", "top_k", "top_p", "min_p"
std::string_view name_of(Step step);

// "penalties;top_k;top_p;min_p;temperature": names separated by ';' or ','. Errors: kUnsupported
// for a sampler that other programs have and Fathom not yet (named), kInvalidArgument for anything
// else.
std::vector<Step> parse_chain(std::string_view list);

// penalties, top_k, top_p, min_p, temperature
std::vector<Step> default_chain();

struct SamplingParams {
  float temperature = 0.8F;  // 0: greedy, whatever the chain says
  int top_k = 40;            // 0: off
  float top_p = 0.95F;       // 1: off
  float min_p = 0.05F;       // 0: off
  float repeat_penalty = 1.0F;
  float presence_penalty = 0.0F;
  float frequency_penalty = 0.0F;
  int penalty_window = 64;  // last tokens (prompt included) that penalties look at; -1: all
  // true: presence and frequency count tokens of the answer only, as OpenAI defines them.
  bool penalize_answer_only = false;
  uint64_t seed = 0;
  std::vector<std::pair<int32_t, float>> logit_bias;  // added to the raw logits before the chain
  std::vector<int32_t> allowed_ids;                   // only these may be drawn; empty: all
  // Sequences of ids that the answer must not hold.
  std::vector<std::vector<int32_t>> bad_words;
  int n_logprobs = -1;  // -1: none; k: the chosen token and the k best
  // false: of the raw distribution; true: of what the chain has left, as it was drawn from.
  bool chain_logprobs = false;
  std::vector<Step> chain = default_chain();
};

// Error: kInvalidArgument naming the field and its range (temperature < 0 or not finite, top_p
// outside (0, 1], an id outside the vocabulary, an empty word, n_logprobs > n_vocab ...).
void check(const SamplingParams& params, int64_t n_vocab);

struct TokenLogprob {
  int32_t id = 0;
  float logprob = 0.0F;  // before bias, penalties, temperature and cuts, or after: chain_logprobs
};

struct Sampled {
  int32_t id = 0;
  float logprob = 0.0F;            // filled when n_logprobs >= 0
  std::vector<TokenLogprob> best;  // sorted, ties to the lower id
};

// Where in its sequence a token is drawn. `position` and `choice` key the generator.
struct Place {
  std::span<const int32_t> history = {};  // all tokens of the sequence so far
  int64_t n_prompt = 0;                   // of them the prompt's; the others are the answer
  int64_t position = 0;                   // of the token to be drawn
  uint32_t choice = 0;
  std::span<const int32_t> masked = {};  // ids that may not be drawn here: ends, before min_tokens
};

class Sampler {
 public:
  Sampler(SamplingParams params, int64_t n_vocab);

  // `logits` [n_vocab]. Ties go to the lower id. Where masks leave no token, words to avoid give
  // way, then `masked`; the allowed ids never do. No allocation after the first call except for
  // logprobs and masks.
  Sampled sample(std::span<const float> logits, const Place& place);

  // The same where all of `history` counts as the answer.
  Sampled sample(std::span<const float> logits, std::span<const int32_t> history, int64_t position,
                 uint32_t choice) {
    return sample(logits, {.history = history, .position = position, .choice = choice});
  }

 private:
  // Makes the allowed logits candidates, in the order of their ids: NaN as -inf, bias added.
  void fill_candidates(std::span<const float> logits);
  void mask(const Place& place);
  void penalize(const Place& place);
  void run_chain(const Place& place, bool is_greedy);

  SamplingParams params_;
  std::vector<std::pair<int32_t, float>> candidates_;  // id and value, kept between calls
  std::vector<int32_t> counts_;                        // scratch of the penalties, [n_vocab]
};

}  // namespace fathom::sample
