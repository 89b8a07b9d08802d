// One step: end what is over, admit what fits, choose rows and find pages for them, run the model;
// advance.cc has what becomes of its logits. Pages are taken as rows need them; when none is left,
// the running sequence that comes last by rank gives its pages away and is computed again later, to
// the same bits.
//
//   tokens of a sequence:  [ prompt .............. | generated ....... | next ]
//                          0        num_computed ->                     n_tokens
//   The last token drawn needs no position of its own until the step that computes it.
#include "engine/engine.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/log.h"
#include "engine/batch.h"
#include "engine/scheduler.h"
#include "engine/sequence.h"

namespace fathom::engine {

namespace {

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
      keeper_(pages, {.prefix_cache = options.prefix_cache,
                      .only_prompts = options.arithmetic == kv::kFastArithmetic,
                      .hash = options.page_hash}),
      roster_(keeper_, options.max_sequences, options.context),
      batch_(std::make_unique<Batch>(options.max_batched_tokens, options.max_sequences,
                                     logit_rows(options),
                                     options.arithmetic == kv::kFastArithmetic)) {
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

}  // namespace fathom::engine
