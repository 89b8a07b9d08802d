// What a step's rows have brought: pages to offer, log probabilities of prompts, tokens to publish,
// and ends.
// Called by engine/engine (step). Read next: sample/sampler.h, engine/delivery.h.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <mutex>
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
  draw_tokens();
  int64_t logit_row = 0;
  for (size_t i = 0; i < shares_.size(); ++i) {
    const int64_t n_logits = shares_[i].n_logits;
    advance(i, {logits_.row(logit_row), n_logits, logits_.n_cols, logits_.stride});
    logit_row += n_logits;
  }
}

// All sequences draw side by side: what one draws depends on its own tokens and logits alone.
void Engine::draw_tokens() {
  const PhaseTimer timer(phase_, StepPhase::kSample, stats_.sample_s);
  drawn_.assign(shares_.size(), std::nullopt);
  std::vector<std::pair<size_t, int64_t>> jobs;  // shares that complete, and their last logits
  int64_t logit_row = 0;
  for (size_t i = 0; i < shares_.size(); ++i) {
    logit_row += shares_[i].n_logits;
    if (shares_[i].completes) {
      jobs.emplace_back(i, logit_row - 1);
    }
  }
  std::mutex failure_lock;
  std::exception_ptr failure;
  model_->run_units(std::ssize(jobs), [&](int64_t job, int) {
    const auto [share, row] = jobs[static_cast<size_t>(job)];
    try {
      drawn_[share] = draw_token(*shares_[share].sequence,
                                 {logits_.row(row), static_cast<size_t>(logits_.n_cols)});
    } catch (...) {
      const std::lock_guard guard(failure_lock);
      failure = std::current_exception();
    }
  });
  if (failure) {
    std::rethrow_exception(failure);
  }
}

sample::Sampled Engine::draw_token(Sequence& sequence, std::span<const float> logits) {
  const Request& request = sequence.request();
  const std::vector<int32_t> none;
  const bool may_end = sequence.n_generated() >= request.min_tokens;
  return sequence.sampler().sample(logits, {.history = sequence.history(),
                                            .n_prompt = sequence.n_prompt(),
                                            .position = std::ssize(sequence.history()),
                                            .choice = request.choice,
                                            .masked = may_end ? none : request.end_tokens});
}

// What a share's rows have brought: pages to offer, log probabilities of the prompt, a token.
// `logits`: of the share's last rows.
void Engine::advance(size_t share_index, const ops::Rows& logits) {
  const BatchShare& share = shares_[share_index];
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
    publish_all(share_index, {logits.row(share.n_logits - 1), static_cast<size_t>(logits.n_cols)});
  }
}

// The token of a sequence, and where its prompt is complete, the first ones of those that follow.
void Engine::publish_all(size_t share_index, std::span<const float> logits) {
  Sequence& sequence = *shares_[share_index].sequence;
  const std::vector<Sequence*> forked = roster_.fork(sequence, now());
  publish(sequence, *drawn_[share_index]);
  for (Sequence* follower : forked) {
    sample::Sampled sampled;
    {
      const PhaseTimer timer(phase_, StepPhase::kSample, stats_.sample_s);
      sampled = draw_token(*follower, logits);
    }
    publish(*follower, sampled);
  }
}

void Engine::publish(Sequence& sequence, const sample::Sampled& sampled) {
  const Request& request = sequence.request();
  const Clock::time_point drawn = now();
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
