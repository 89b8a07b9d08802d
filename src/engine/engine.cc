// One step: end what is over, admit what fits, choose rows and find pages for them, run the model,
// sample and publish. Pages are taken as rows need them; when none is left, the running sequence
// that comes last by rank gives its pages away and is computed again later, to the same bits.
//
//   tokens of a sequence:  [ prompt .............. | generated ....... | next ]
//                          0        num_computed ->                     n_tokens
//   The last token drawn needs no position of its own until the step that computes it.
#include "engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/log.h"
#include "engine/batch.h"
#include "engine/delivery.h"
#include "engine/scheduler.h"
#include "engine/sequence.h"
#include "sample/logprobs.h"

namespace fathom::engine {

namespace {

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

int64_t logit_rows(const EngineOptions& options) {
  return std::max(options.max_logits, options.max_sequences);
}

// Rows of a chunk whose logits are wanted: the last one of a complete one, and each that stands
// before a token of the prompt whose log probability is still missing.
int64_t n_logits_of(const Sequence& sequence, int64_t n_rows, bool completes) {
  int64_t n_logits = completes ? 1 : 0;
  if (sequence.wants_prompt_logprobs()) {
    const int64_t first = std::max(sequence.num_computed, std::ssize(sequence.prompt_logprobs));
    n_logits = std::max(n_logits, sequence.num_computed + n_rows - first);
  }
  return n_logits;
}

}  // namespace

std::string_view name_of(FinishReason reason) {
  constexpr std::string_view kNames[] = {"stop",  "length",   "cancelled",
                                         "error", "deadline", "queue_timeout"};
  return kNames[static_cast<size_t>(reason)];
}

Engine::Engine(model::Model& model, ops::Exec& exec, kv::PagePool& pages, MemoryPool& scratch,
               const EngineOptions& options)
    : Engine(std::make_unique<LoadedStepModel>(model, exec), pages, scratch, options) {}

Engine::Engine(std::unique_ptr<StepModel> model, kv::PagePool& pages, MemoryPool& scratch,
               const EngineOptions& options)
    : Engine(*model, pages, scratch, options) {
  own_model_ = std::move(model);
}

Engine::Engine(StepModel& model, kv::PagePool& pages, MemoryPool& scratch,
               const EngineOptions& options)
    : model_(&model),
      pages_(&pages),
      options_(options),
      limits_{.n_vocab = model.n_vocab(),
              .context = options.context,
              .n_pages = pages.n_pages(),
              .allows_more_context = model.allows_more_than(options.context)},
      keeper_(pages, options.prefix_cache, options.page_hash),
      roster_(keeper_, options.max_sequences, options.context),
      batch_(std::make_unique<Batch>(options.max_batched_tokens, options.max_sequences,
                                     logit_rows(options))) {
  FATHOM_CHECK(model.limits().max_tokens >= options.max_batched_tokens);
  FATHOM_CHECK(model.limits().max_logits >= logit_rows(options));
  FATHOM_CHECK(options.use_kv_cache || !options.prefix_cache);
  FATHOM_CHECK(options.priority_aging >= 1);
  if (options.check_pages) {
    pages.start_audit();
  }
  const auto count = static_cast<size_t>(logit_rows(options) * limits_.n_vocab);
  logits_ = {scratch.allocate_array<float>(count).data(), logit_rows(options), limits_.n_vocab,
             limits_.n_vocab};
}

Engine::~Engine() = default;

size_t Engine::scratch_bytes(int64_t n_vocab, const EngineOptions& options) {
  return MemoryPool::padded_bytes(static_cast<size_t>(logit_rows(options) * n_vocab) *
                                  sizeof(float));
}

Clock::time_point Engine::now() const {
  return options_.now ? options_.now() : Clock::now();
}

void Engine::check(const Request& request) const {
  check_request(request, limits_);
}

std::unique_ptr<Sequence> Engine::make_sequence(Request request, TextSink& sink) {
  const RequestId id = next_id_++;
  const int64_t planned = positions_needed(request, options_.context);
  const kv::PageHeader header = {pages_->shape().type, options_.arithmetic,
                                 model_->rope_id(planned)};
  const int priority = request.priority;
  kv::PrefixScope scope = {header, request.cache_salt, options_.model_id, options_.adapter_id};
  auto sequence = std::make_unique<Sequence>(id, std::move(request), sink, *pages_,
                                             std::move(scope), limits_.n_vocab, planned);
  sequence->rank = rank_of(priority, stats_.n_steps, options_.priority_aging, id);
  sequence->submitted = now();
  sequence->usage.prompt_tokens = sequence->n_prompt();
  return sequence;
}

RequestId Engine::submit(Request request, TextSink& sink) {
  check(request);
  auto sequence = make_sequence(std::move(request), sink);
  const RequestId id = sequence->id();
  roster_.add(std::move(sequence));
  return id;
}

std::vector<RequestId> Engine::submit_choices(const Request& request,
                                              std::span<TextSink* const> sinks) {
  check(request);
  std::vector<RequestId> ids;
  for (TextSink* sink : sinks) {
    Request one = request;
    one.choice = static_cast<uint32_t>(ids.size());
    auto sequence = make_sequence(std::move(one), *sink);
    ids.push_back(sequence->id());
    if (ids.size() == 1) {
      sequence->has_followers = sinks.size() > 1;
    } else {
      sequence->leader = ids.front();
    }
    roster_.add(std::move(sequence));
  }
  return ids;
}

EngineStats Engine::stats() const {
  EngineStats stats = stats_;
  stats.n_waiting = std::ssize(roster_.waiting());
  stats.n_running = std::ssize(roster_.running());
  stats.n_pages = pages_->n_pages();
  stats.n_pages_free = pages_->n_free();
  stats.n_pages_cached = pages_->n_idle();
  stats.n_pages_used = stats.n_pages - stats.n_pages_free - stats.n_pages_cached;
  if (const kv::PrefixCache* cache = keeper_.cache()) {
    stats.prefix = cache->stats();
  }
  return stats;
}

std::vector<SequenceView> Engine::sequences() const {
  std::vector<SequenceView> views;
  for (const auto* queue : {&roster_.running(), &roster_.waiting()}) {
    for (const auto& sequence : *queue) {
      views.push_back({.id = sequence->id(),
                       .is_running = queue == &roster_.running(),
                       .tokens = sequence->tokens(),
                       .pages = std::as_const(*sequence).pages().pages(),
                       .n_prompt = sequence->n_prompt(),
                       .num_computed = sequence->num_computed});
    }
  }
  return views;
}

void Engine::cancel(RequestId id) {
  roster_.cancel(id);
}

void Engine::end_overdue() {
  for (auto& [sequence, reason] : roster_.take_ended(now())) {
    finish(*sequence, reason, "");
  }
}

// Never the only one that runs, so that all end.
void Engine::preempt_for_debug() {
  if (options_.preempt_every > 0 && (stats_.n_steps + 1) % options_.preempt_every == 0 &&
      roster_.running().size() > 1) {
    roster_.preempt(roster_.last_running());
    ++stats_.n_preemptions;
  }
}

// Rows for the running sequences. One that begins as another does waits for the pages that the
// other is about to fill.
void Engine::choose_rows() {
  std::vector<Sequence*> sequences;
  std::vector<Pending> pending;
  std::unordered_set<uint64_t> claims;
  const auto& running = roster_.running();
  const int64_t n_logprobs = std::ranges::count_if(
      running, [](const auto& sequence) { return sequence->wants_prompt_logprobs(); });
  const int64_t spare_logits = logits_.n_rows - std::ssize(running);
  for (const auto& sequence : running) {
    keeper_.take_cached(*sequence);
    Pending next = {.num_computed = sequence->num_computed,
                    .n_tokens = sequence->n_tokens(),
                    .last_step = sequence->last_step};
    next.is_generating = sequence->n_generated() > 0 && next.n_tokens - next.num_computed == 1;
    if (sequence->wants_prompt_logprobs()) {
      next.max_rows = 1 + spare_logits / std::max<int64_t>(1, n_logprobs);
    } else if (!next.is_generating && keeper_.waits_for_others(*sequence, claims)) {
      next.max_rows = 0;
    }
    sequences.push_back(sequence.get());
    pending.push_back(next);
  }
  shares_.clear();
  for (const Share& share : schedule(pending, options_.max_batched_tokens)) {
    Sequence& sequence = *sequences[share.sequence];
    const int64_t n_logits = n_logits_of(sequence, share.n_rows, share.completes);
    if (sequence.is_running && secure({&sequence, share.n_rows, share.completes, n_logits})) {
      sequence.last_step = stats_.n_steps + 1;
      shares_.push_back({&sequence, share.n_rows, share.completes, n_logits});
    }
  }
}

// Pages for a share, from the cache and then from the last by rank. False: the sequence itself had
// to give way, or it ended.
bool Engine::secure(BatchShare share) {
  Sequence& sequence = *share.sequence;
  try {
    while (!keeper_.prepare(sequence, share.n_rows)) {
      Sequence& last = roster_.last_running();
      std::erase_if(shares_, [&](const BatchShare& taken) { return taken.sequence == &last; });
      roster_.preempt(last);
      ++stats_.n_preemptions;
      if (&last == &sequence) {
        return false;
      }
    }
    keeper_.check(sequence, share.n_rows);
    return true;
  } catch (const Error& error) {
    warn(error.what());
    finish(sequence, FinishReason::kError, error.what());
    return false;
  }
}

bool Engine::step() {
  {
    const PhaseTimer timer(phase_, StepPhase::kSchedule, stats_.schedule_s);
    end_overdue();
    preempt_for_debug();
    roster_.admit(now());
    choose_rows();
    batch_->fill(shares_);
  }
  if (!shares_.empty()) {
    ++stats_.n_steps;
    {
      const PhaseTimer timer(phase_, StepPhase::kForward, stats_.forward_s);
      model_->forward(batch_->input(), logits_);
    }
    if (!end_faulty_sequence()) {
      advance();
    }
  }
  roster_.remove_finished();
  return !roster_.is_empty();
}

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
    sampled = sequence.sampler().sample(logits, {.history = sequence.tokens(),
                                                 .n_prompt = sequence.n_prompt(),
                                                 .position = sequence.n_tokens(),
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
  const bool full = sequence.n_tokens() > options_.context ||
                    (request.max_tokens >= 0 && sequence.n_generated() >= request.max_tokens);
  if (!delivered.failure.empty()) {
    finish(sequence, FinishReason::kError, delivered.failure);
  } else if (is_end || !delivered.goes_on) {
    finish(sequence, FinishReason::kStop, "");
  } else if (full) {
    finish(sequence, FinishReason::kLength, "");
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
