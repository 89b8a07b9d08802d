// The step loop: schedule, fill the batch, one forward pass, sample, publish.
// Called by api/generator, api/engine_thread. Read next: engine/roster.h, engine/scheduler.h,
// engine/batch.h, engine/advance.cc, model/model.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/arena.h"
#include "engine/page_keeper.h"
#include "engine/request.h"
#include "engine/request_check.h"
#include "engine/roster.h"
#include "engine/stats.h"
#include "engine/step_model.h"
#include "kv/page_pool.h"
#include "kv/prefix_cache.h"
#include "model/model.h"
#include "ops/exec.h"

namespace fathom::engine {

class Batch;
struct BatchShare;

struct EngineOptions {
  int64_t max_batched_tokens =
      512;                    // rows of one step; prompts are cut into chunks of at most this
  int64_t max_sequences = 8;  // running at once; others wait
  int64_t context = 4096;     // positions of one sequence
  bool use_kv_cache = true;   // false: every step recomputes the whole sequence
  bool prefix_cache = false;  // keep pages for prompts that begin alike; needs use_kv_cache
  uint8_t arithmetic = kv::kExactArithmetic;  // of page headers; fast: rows of prompts are marked
  int64_t max_logits = 0;        // rows of logits in a step; 0: max_sequences, the least
  int64_t priority_aging = 256;  // steps of waiting that are worth one level of priority
  int64_t preempt_every = 0;     // debug: steps after which the last running one is pre-empted
  bool check_pages = false;      // debug: every page that a step reads or writes has its owner
  std::string model_id = {};     // names the weights in the keys of cached pages
  std::string adapter_id = {};   // and the adapters
  kv::PageHash page_hash = {};   // of cached pages; empty: the standard one
  std::function<Clock::time_point()> now = {};  // for deadlines and durations; empty: Clock::now
};

// A sequence as it stands between two steps.
struct SequenceView {
  RequestId id = 0;
  bool is_running = false;
  std::span<const int32_t> tokens;  // prompt and answer
  std::span<const int32_t> pages;
  int64_t n_prompt = 0;
  int64_t num_computed = 0;
};

class Engine {
 public:
  // All must outlive the engine. The model's limits must cover the options. Logit rows come from
  // `scratch`.
  Engine(model::Model& model, ops::Exec& exec, kv::PagePool& pages, MemoryPool& scratch,
         const EngineOptions& options);

  // The same over any model.
  Engine(StepModel& model, kv::PagePool& pages, MemoryPool& scratch, const EngineOptions& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  [[nodiscard]] const EngineOptions& options() const { return options_; }

  // What the constructor takes from the scratch pool.
  static size_t scratch_bytes(int64_t n_vocab, const EngineOptions& options);

  // What submit() refuses, from any thread: it depends on fixed limits only. Errors:
  // kInvalidArgument: empty prompt, id outside the vocabulary, a field out of range;
  // kResourceExhausted: prompt longer than the context, more pages than there are, with both
  // numbers.
  void check(const Request& request) const;

  // Checks and queues a request; `sink` must live until its on_finish. Errors: those of check();
  // nothing is queued then.
  RequestId submit(Request request, TextSink& sink);

  // Several answers to one prompt: sink i gets choice i, with the bits that a request of its own
  // with that `choice` would give. The prompt is computed once where there are seats for all of
  // them; its pages are shared until they are written. Ids in the same order; errors as of
  // submit().
  std::vector<RequestId> submit_choices(const Request& request, std::span<TextSink* const> sinks);

  // Ends a request at the next step border; its sink gets kCancelled. Unknown ids are ignored.
  void cancel(RequestId id);

  // One step over the running sequences. False when nothing is running or waiting. A request whose
  // own step or sink fails ends with kError; the others go on.
  bool step();

  [[nodiscard]] EngineStats stats() const;

  // Any thread.
  [[nodiscard]] StepPhase phase() const { return phase_.load(std::memory_order_relaxed); }

  // All sequences, valid until the next call; for checks and reports.
  [[nodiscard]] std::vector<SequenceView> sequences() const;

  // Rows computed so far, prompts and generated tokens together.
  [[nodiscard]] int64_t n_rows_computed() const { return stats_.n_rows; }

  // What the prefix cache has done; null where it is off.
  [[nodiscard]] const kv::PrefixCache* prefix_cache() const { return keeper_.cache(); }

  // Time spent so far on choosing tokens from logits.
  [[nodiscard]] double sampling_seconds() const { return stats_.sample_s; }

 private:
  Engine(std::unique_ptr<StepModel> model, kv::PagePool& pages, MemoryPool& scratch,
         const EngineOptions& options);

  [[nodiscard]] Clock::time_point now() const;
  std::unique_ptr<Sequence> make_sequence(Request request, TextSink& sink);
  void end_overdue();
  void preempt_for_debug();
  void choose_rows();
  bool secure(BatchShare share);
  void advance();
  void draw_tokens();
  [[nodiscard]] static sample::Sampled draw_token(Sequence& sequence,
                                                  std::span<const float> logits);
  void advance(size_t share_index, const ops::Rows& logits);
  void publish_all(size_t share_index, std::span<const float> logits);
  void publish(Sequence& sequence, const sample::Sampled& sampled);
  void finish(Sequence& sequence, FinishReason reason, std::string_view message);
  bool end_faulty_sequence();

  std::unique_ptr<StepModel> own_model_;  // where the constructor got a loaded one
  StepModel* model_;
  kv::PagePool* pages_;
  EngineOptions options_;
  RequestLimits limits_;
  ops::Rows logits_;  // [max_logits, n_vocab]
  PageKeeper keeper_;
  Roster roster_;
  std::unique_ptr<Batch> batch_;
  std::vector<BatchShare> shares_;                     // of the step at hand
  std::vector<std::optional<sample::Sampled>> drawn_;  // of each share that completes
  RequestId next_id_ = 1;
  EngineStats stats_;  // counters and times; the rest is filled in by stats()
  std::atomic<StepPhase> phase_ = StepPhase::kIdle;
};

}  // namespace fathom::engine
