// One step: drop what was cancelled, admit what fits, choose rows, fill the batch, run the model,
// sample and publish. Pages for a whole answer are reserved at admission, so a running request
// never fails for want of memory.
//
//   tokens of a sequence:  [ prompt .............. | generated ....... | next ]
//                          0        num_computed ->                     n_tokens
//   The last token drawn needs no position of its own until the step that computes it.
#include "engine/engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/error.h"
#include "engine/batch.h"
#include "engine/scheduler.h"
#include "engine/sequence.h"
#include "model/rope.h"

namespace fathom::engine {

namespace {

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

std::string_view name_of(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kError:
      return "error";
    case FinishReason::kDeadline:
      return "deadline";
    case FinishReason::kQueueTimeout:
      return "queue_timeout";
  }
  return "error";
}

Engine::Engine(model::Model& model, ops::Exec& exec, kv::PagePool& pages, MemoryPool& scratch,
               const EngineOptions& options)
    : model_(&model),
      exec_(&exec),
      pages_(&pages),
      options_(options),
      batch_(std::make_unique<Batch>(options.max_batched_tokens, options.max_sequences)) {
  FATHOM_CHECK(model.limits().max_tokens >= options.max_batched_tokens);
  FATHOM_CHECK(model.limits().max_logits >= options.max_sequences);
  FATHOM_CHECK(options.use_kv_cache || !options.prefix_cache);
  if (options.prefix_cache) {
    cache_ = std::make_unique<kv::PrefixCache>(pages);
  }
  const int64_t n_vocab = model.config().n_vocab;
  const auto count = static_cast<size_t>(options.max_sequences * n_vocab);
  logits_ = {scratch.allocate_array<float>(count).data(), options.max_sequences, n_vocab, n_vocab};
}

Engine::~Engine() = default;

size_t Engine::scratch_bytes(int64_t n_vocab, const EngineOptions& options) {
  return MemoryPool::padded_bytes(static_cast<size_t>(options.max_sequences * n_vocab) *
                                  sizeof(float));
}

int64_t Engine::positions_needed(const Request& request) const {
  const auto prompt = static_cast<int64_t>(request.prompt.size());
  const int64_t room = options_.context - prompt;
  return prompt + (request.max_tokens < 0 ? room : std::min(room, request.max_tokens));
}

void Engine::check(const Request& request) const {
  if (request.prompt.empty()) {
    fail(ErrorCode::kInvalidArgument, "the prompt has no tokens; give at least one");
  }
  const int64_t n_vocab = model_->config().n_vocab;
  for (const int32_t id : request.prompt) {
    if (id < 0 || id >= n_vocab) {
      fail(ErrorCode::kInvalidArgument,
           fmt::format("token id {} is not in the vocabulary (0 to {})", id, n_vocab - 1));
    }
  }
  const auto n_prompt = static_cast<int64_t>(request.prompt.size());
  if (n_prompt > options_.context) {
    fail(ErrorCode::kResourceExhausted,
         fmt::format("the prompt has {} tokens, the context holds {}; shorten it{}", n_prompt,
                     options_.context,
                     model_->config().allows_more_than(options_.context)
                         ? " or raise -c"
                         : ": the model has learned no more positions"));
  }
  sample::check(request.sampling, n_vocab);
  const int64_t pages = kv::pages_for(positions_needed(request));
  if (pages > pages_->n_pages()) {
    fail(ErrorCode::kResourceExhausted,
         fmt::format("the request needs {} KV pages, there are {} in all", pages,
                     pages_->n_pages()));
  }
}

RequestId Engine::submit(Request request, TextSink& sink) {
  check(request);
  const RequestId id = next_id_++;
  const model::ModelConfig& config = model_->config();
  const int64_t planned = positions_needed(request);
  const kv::PageHeader header = {pages_->shape().type, options_.arithmetic,
                                 model::rope_id(config, planned)};
  waiting_.push_back(std::make_unique<Sequence>(id, std::move(request), sink, *pages_, header,
                                                config.n_vocab, planned));
  return id;
}

std::vector<RequestId> Engine::submit_choices(const Request& request,
                                              std::span<TextSink* const> sinks) {
  std::vector<RequestId> ids;
  for (TextSink* sink : sinks) {
    Request one = request;
    one.choice = static_cast<uint32_t>(ids.size());
    ids.push_back(submit(std::move(one), *sink));
  }
  return ids;
}

EngineStats Engine::stats() const {
  EngineStats stats;
  stats.n_waiting = std::ssize(waiting_);
  stats.n_running = std::ssize(running_);
  stats.n_pages = pages_->n_pages();
  stats.n_pages_free = pages_->n_free();
  stats.n_pages_cached = cache_ ? cache_->n_idle() : 0;
  stats.n_pages_used = stats.n_pages - stats.n_pages_free - stats.n_pages_cached;
  stats.n_rows = n_rows_computed_;
  stats.sample_s = sampling_s_;
  if (cache_) {
    stats.prefix = cache_->stats();
  }
  return stats;
}

void Engine::cancel(RequestId id) {
  for (auto* queue : {&waiting_, &running_}) {
    for (auto& sequence : *queue) {
      if (sequence->id() == id) {
        sequence->cancelled = true;
      }
    }
  }
}

void Engine::drop_cancelled() {
  for (auto* queue : {&waiting_, &running_}) {
    for (auto& sequence : *queue) {
      if (sequence->cancelled) {
        finish(*sequence, FinishReason::kCancelled, "");
        sequence.reset();
      }
    }
    std::erase(*queue, nullptr);
  }
}

// Takes over the pages of the prompt that the cache has, and sees to it that those still needed are
// free, besides the `n_promised` of others. False: there are not enough, and nothing is taken.
bool Engine::make_room(Sequence& sequence, int64_t n_promised) {
  const Request& request = sequence.request();
  if (cache_) {
    // The last token is always computed: its logits are wanted.
    sequence.pages().adopt(cache_->take({sequence.pages().header(), request.cache_salt},
                                        request.prompt, std::ssize(request.prompt) - 1));
  }
  const auto n_taken = std::ssize(sequence.pages().pages());
  int64_t shortage =
      kv::pages_for(positions_needed(request)) - n_taken - (pages_->n_free() - n_promised);
  if (shortage > 0 && cache_ && shortage <= cache_->n_idle()) {
    shortage -= cache_->evict(shortage);
  }
  if (shortage > 0) {
    sequence.pages().clear();
    return false;
  }
  sequence.num_computed = n_taken * kPageTokens;
  sequence.usage.cached_tokens = sequence.num_computed;
  if (cache_) {
    cache_->count(std::ssize(request.prompt), sequence.num_computed);
  }
  return true;
}

// Offers the computed pages of a sequence to later ones.
void Engine::keep_pages(Sequence& sequence) {
  if (cache_) {
    cache_->insert({sequence.pages().header(), sequence.request().cache_salt}, sequence.tokens(),
                   sequence.pages().pages(), sequence.num_computed);
  }
}

void Engine::admit() {
  int64_t n_promised = 0;  // to running sequences, not taken yet
  for (const auto& sequence : running_) {
    n_promised += kv::pages_for(positions_needed(sequence->request())) -
                  static_cast<int64_t>(sequence->pages().pages().size());
  }
  while (!waiting_.empty() && static_cast<int64_t>(running_.size()) < options_.max_sequences) {
    Sequence& first = *waiting_.front();
    if (!make_room(first, n_promised)) {
      return;  // in order of arrival: nobody overtakes
    }
    n_promised += kv::pages_for(positions_needed(first.request())) -
                  static_cast<int64_t>(first.pages().pages().size());
    first.admitted = Clock::now();
    first.usage.prompt_tokens = first.n_tokens();
    running_.push_back(std::move(waiting_.front()));
    waiting_.erase(waiting_.begin());
  }
}

void Engine::choose_rows() {
  std::vector<Pending> pending;
  for (const auto& sequence : running_) {
    pending.push_back({sequence->num_computed, sequence->n_tokens(), sequence->n_generated() > 0});
  }
  shares_.clear();
  for (const Share& share : schedule(pending, options_.max_batched_tokens)) {
    Sequence& sequence = *running_[share.sequence];
    sequence.pages().reserve(sequence.num_computed + share.n_rows);
    shares_.push_back({&sequence, share.n_rows, share.completes});
  }
}

bool Engine::step() {
  drop_cancelled();
  admit();
  if (running_.empty()) {
    return !waiting_.empty();
  }
  choose_rows();
  batch_->fill(shares_);
  model_->forward(batch_->input(), logits_);
  if (end_faulty_sequence()) {
    return true;
  }
  int64_t logit_row = 0;
  for (const BatchShare& share : shares_) {
    Sequence& sequence = *share.sequence;
    sequence.num_computed += share.n_rows;
    n_rows_computed_ += share.n_rows;
    sequence.usage.rows_after_prompt += sequence.n_generated() > 0 ? share.n_rows : 0;
    if (share.completes && sequence.n_generated() == 0) {
      keep_pages(sequence);  // others with the same beginning need not wait for the answer
    }
    if (share.completes) {
      publish(sequence, {logits_.row(logit_row++), static_cast<size_t>(logits_.n_cols)});
    }
  }
  std::erase_if(running_, [](const auto& sequence) { return sequence->cancelled; });
  return !running_.empty() || !waiting_.empty();
}

bool Engine::end_faulty_sequence() {
  const std::optional<ops::NumericFault> fault = exec_->take_fault();
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
  std::erase_if(running_, [&](const auto& entry) { return entry.get() == &sequence; });
  return true;
}

void Engine::publish(Sequence& sequence, std::span<const float> logits) {
  const Clock::time_point now = Clock::now();
  const sample::Sampled sampled = sequence.sampler().sample(
      logits, sequence.tokens(), sequence.n_tokens(), sequence.request().choice);
  sampling_s_ += seconds_between(now, Clock::now());
  if (sequence.n_generated() == 0) {
    sequence.first_token = now;
    sequence.usage.prefill_s = seconds_between(sequence.admitted, now);
  }
  sequence.usage.decode_s = seconds_between(sequence.first_token, now);
  sequence.append(sampled.id);
  if (!options_.use_kv_cache) {
    sequence.num_computed = 0;  // compute everything again
  }
  sequence.usage.generated_tokens = sequence.n_generated();

  const Request& request = sequence.request();
  const bool is_end = std::ranges::find(request.end_tokens, sampled.id) != request.end_tokens.end();
  const bool go_on = sequence.sink().on_token({sampled.id, &sampled, is_end});
  const bool full = sequence.n_tokens() > options_.context ||
                    (request.max_tokens >= 0 && sequence.n_generated() >= request.max_tokens);
  if (is_end || !go_on) {
    finish(sequence, FinishReason::kStop, "");
  } else if (full) {
    finish(sequence, FinishReason::kLength, "");
  } else {
    return;
  }
  sequence.cancelled = true;  // leaves the running list at the end of the step
}

void Engine::finish(Sequence& sequence, FinishReason reason, std::string_view message) {
  if (reason != FinishReason::kError) {
    keep_pages(sequence);
  }
  sequence.pages().clear();
  sequence.sink().on_finish(reason, sequence.usage, message);
}

}  // namespace fathom::engine
