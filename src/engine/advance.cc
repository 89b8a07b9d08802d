// What a step's rows have brought: pages to offer, log probabilities of prompts, tokens to publish,
// and ends.
// Called by engine/engine (step). Read next: sample/sampler.h, engine/delivery.h.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/batch.h"
#include "engine/delivery.h"
#include "engine/engine.h"
#include "engine/sequence.h"
#include "sample/logprobs.h"

namespace fathom::engine {

namespace {

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

bool Engine::end_faulty_sequence() {
  const std::optional<ops::NumericFault> fault = model_->take_fault();
  if (!fault) {
    return false;
  }
  Sequence& sequence = *shares_.at(batch_->share_of_row(fault->row)).sequence;
  const std::string place =
      fault->layer < 0 ? std::string("outside the layers") : fmt::format("layer {}", fault->layer);
  finish(sequence, FinishReason::kError,
         fmt::format("a value in tensor '{}' ({}) at position {} is NaN or infinite, after {} "
                     "tokens of the answer: the weights, an adapter or the config's numbers are "
                     "broken; --check-tensors looks at the file's values, --check-nan names the "
                     "first bad value of the run",
                     fault->name, place, batch_->input().positions[static_cast<size_t>(fault->row)],
                     sequence.n_generated()));
  return true;
}

void Engine::advance() {
  int64_t logit_row = 0;
  for (const BatchShare& share : shares_) {
    advance(share, {logits_.row(logit_row), share.n_logits, logits_.n_cols, logits_.stride});
    logit_row += share.n_logits;
  }
}

// What a share's rows have brought: pages to offer, log probabilities of the prompt, a token.
// `logits`: of the share's last rows.
void Engine::advance(const BatchShare& share, const ops::Rows& logits) {
  Sequence& sequence = *share.sequence;
  const int64_t before = sequence.num_computed;
  sequence.num_computed += share.n_rows;
  stats_.n_rows += share.n_rows;
  (sequence.n_generated() > 0 ? sequence.usage.rows_after_prompt : stats_.n_prompt_rows) +=
      share.n_rows;
  if (sequence.wants_prompt_logprobs()) {
    const int64_t first = sequence.num_computed - share.n_logits;
    for (int64_t row = 0; row < share.n_logits; ++row) {
      const int64_t next = first + row + 1;  // the token that these logits foretell
      if (next < sequence.n_prompt() && next > std::ssize(sequence.prompt_logprobs)) {
        sequence.prompt_logprobs.push_back(sample::score(
            {logits.row(row), static_cast<size_t>(logits.n_cols)},
            sequence.tokens()[static_cast<size_t>(next)], sequence.request().n_prompt_logprobs));
      }
    }
  }
  if (before / kPageTokens != sequence.num_computed / kPageTokens) {
    keeper_.keep(sequence);  // others with the same beginning need not wait for the answer
  }
  if (share.completes) {
    publish_all(sequence, {logits.row(share.n_logits - 1), static_cast<size_t>(logits.n_cols)});
  }
}

// The token of a sequence, and where its prompt is complete, the first ones of those that follow.
void Engine::publish_all(Sequence& sequence, std::span<const float> logits) {
  const std::vector<Sequence*> forked = roster_.fork(sequence, now());
  publish(sequence, logits);
  for (Sequence* follower : forked) {
    publish(*follower, logits);
  }
}

void Engine::publish(Sequence& sequence, std::span<const float> logits) {
  const Request& request = sequence.request();
  const Clock::time_point drawn = now();
  sample::Sampled sampled;
  {
    const PhaseTimer timer(phase_, StepPhase::kSample, stats_.sample_s);
    const bool may_end = sequence.n_generated() >= request.min_tokens;
    const std::vector<int32_t> none;
    sampled = sequence.sampler().sample(logits, {.history = sequence.history(),
                                                 .n_prompt = sequence.n_prompt(),
                                                 .position = std::ssize(sequence.history()),
                                                 .choice = request.choice,
                                                 .masked = may_end ? none : request.end_tokens});
  }
  const bool is_first = sequence.n_generated() == 0;
  if (is_first) {
    sequence.first_token = drawn;
    sequence.usage.prefill_s = seconds_between(sequence.admitted, drawn);
    keeper_.count(sequence);
  }
  sequence.usage.decode_s = seconds_between(sequence.first_token, drawn);
  sequence.append(sampled.id);
  if (!options_.use_kv_cache) {
    sequence.num_computed = 0;  // compute everything again
  }
  sequence.usage.generated_tokens = sequence.n_generated();
  const bool is_end = std::ranges::find(request.end_tokens, sampled.id) != request.end_tokens.end();
  Delivered delivered;
  {
    const PhaseTimer timer(phase_, StepPhase::kPublish, stats_.publish_s);
    delivered = deliver_token(sequence, {sampled.id, &sampled, is_end});
  }
  const bool is_whole = request.max_tokens >= 0 && sequence.n_generated() >= request.max_tokens;
  const bool is_full = sequence.n_tokens() > options_.context;
  if (!delivered.failure.empty()) {
    finish(sequence, FinishReason::kError, delivered.failure);
  } else if (is_end || !delivered.goes_on) {
    finish(sequence, FinishReason::kStop, "");
  } else if (is_whole || (is_full && !request.context_shift)) {
    finish(sequence, FinishReason::kLength, "");
  } else if (is_full) {
    keeper_.give_back(sequence);
    sequence.shift(options_.context);
    ++stats_.n_context_shifts;
  }
}

// Pages go back before the sink hears of it. A sequence that waits or runs leaves its queue at the
// end of the step.
void Engine::finish(Sequence& sequence, FinishReason reason, std::string_view message) {
  if (reason != FinishReason::kError) {
    keeper_.keep(sequence);
  }
  keeper_.give_back(sequence);
  roster_.hand_over(sequence);
  sequence.is_finished = true;
  if (!sequence.was_admitted) {
    sequence.usage.queue_s = seconds_between(sequence.submitted, now());
  }
  const PhaseTimer timer(phase_, StepPhase::kPublish, stats_.publish_s);
  deliver_finish(sequence, reason, message);
}

}  // namespace fathom::engine
