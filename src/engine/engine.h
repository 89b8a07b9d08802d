// The step loop: schedule, fill the batch, one forward pass, sample, publish.
// Called by api/generator. Read next: engine/scheduler.h, engine/batch.h, model/model.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/arena.h"
#include "engine/request.h"
#include "kv/page_pool.h"
#include "kv/prefix_cache.h"
#include "model/model.h"
#include "ops/exec.h"

namespace fathom::engine {

class Batch;
class Sequence;
struct BatchShare;

struct EngineOptions {
  int64_t max_batched_tokens =
      512;                       // rows of one step; prompts are cut into chunks of at most this
  int64_t max_sequences = 8;     // running at once; others wait
  int64_t context = 4096;        // positions of one sequence
  bool use_kv_cache = true;      // false: every step recomputes the whole sequence
  bool prefix_cache = false;     // keep pages for prompts that begin alike; needs use_kv_cache
  uint8_t arithmetic = 0;        // of page headers: 0 int8 activations, 1 f32 reference
  int64_t priority_aging = 256;  // steps of waiting that are worth one level of priority
  std::function<Clock::time_point()> now = {};  // for deadlines and durations; empty: Clock::now
};

// Numbers for metrics, all since the start unless they say "now".
struct EngineStats {
  int64_t n_waiting = 0;       // now, pre-empted ones among them
  int64_t n_running = 0;       // now
  int64_t n_pages = 0;         // in all
  int64_t n_pages_free = 0;    // now, holding nothing
  int64_t n_pages_cached = 0;  // now, held by the prefix cache alone: free when they are needed
  int64_t n_pages_used = 0;    // now, held by sequences
  int64_t n_steps = 0;         // with at least one row
  int64_t n_rows = 0;          // computed, prompts and generated tokens together
  int64_t n_prompt_rows = 0;   // of them
  int64_t n_preemptions = 0;
  kv::PrefixStats prefix;  // zeros where the cache is off
  double schedule_s = 0;   // choosing, pages, filling the batch
  double forward_s = 0;    // the model
  double sample_s = 0;     // tokens from logits
  double publish_s = 0;    // the sinks
};

class Engine {
 public:
  // All must outlive the engine. The model's limits must cover the options. Logit rows come from
  // `scratch`.
  Engine(model::Model& model, ops::Exec& exec, kv::PagePool& pages, MemoryPool& scratch,
         const EngineOptions& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

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
  // with that `choice` would give. Ids in the same order; errors as of submit().
  std::vector<RequestId> submit_choices(const Request& request, std::span<TextSink* const> sinks);

  // Ends a request at the next step border; its sink gets kCancelled. Unknown ids are ignored.
  void cancel(RequestId id);

  // One step over the running sequences. False when nothing is running or waiting.
  bool step();

  [[nodiscard]] EngineStats stats() const;

  // Rows computed so far, prompts and generated tokens together.
  [[nodiscard]] int64_t n_rows_computed() const { return n_rows_computed_; }

  // What the prefix cache has done; null where it is off.
  [[nodiscard]] const kv::PrefixCache* prefix_cache() const { return cache_.get(); }

  // Time spent so far on choosing tokens from logits.
  [[nodiscard]] double sampling_seconds() const { return sampling_s_; }

 private:
  void drop_cancelled();
  void admit();
  void choose_rows();
  void publish(Sequence& sequence, std::span<const float> logits);
  [[nodiscard]] bool make_room(Sequence& sequence, int64_t n_promised);
  void keep_pages(Sequence& sequence);
  void finish(Sequence& sequence, FinishReason reason, std::string_view message);
  bool end_faulty_sequence();
  [[nodiscard]] int64_t positions_needed(const Request& request) const;

  model::Model* model_;
  ops::Exec* exec_;
  kv::PagePool* pages_;
  EngineOptions options_;
  ops::Rows logits_;                                // [max_sequences, n_vocab]
  std::unique_ptr<kv::PrefixCache> cache_;          // null: off
  std::vector<std::unique_ptr<Sequence>> waiting_;  // in order of arrival
  std::vector<std::unique_ptr<Sequence>> running_;
  std::unique_ptr<Batch> batch_;
  std::vector<BatchShare> shares_;  // of the step at hand
  RequestId next_id_ = 1;
  int64_t n_rows_computed_ = 0;
  double sampling_s_ = 0;
};

}  // namespace fathom::engine
