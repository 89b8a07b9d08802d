// The step loop: schedule, fill the batch, one forward pass, sample, publish.
// Called by api/generator. Read next: engine/scheduler.h, engine/batch.h, model/model.h.
#pragma once

#include <cstdint>
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
      512;                    // rows of one step; prompts are cut into chunks of at most this
  int64_t max_sequences = 8;  // running at once; others wait
  int64_t context = 4096;     // positions of one sequence
  bool use_kv_cache = true;   // false: every step recomputes the whole sequence
  bool prefix_cache = false;  // keep pages for prompts that begin alike; needs use_kv_cache
  uint8_t arithmetic = 0;     // of page headers: 0 int8 activations, 1 f32 reference
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

  // Checks and queues a request; `sink` must live until its on_finish. Errors (nothing is queued):
  // kInvalidArgument: empty prompt, id outside the vocabulary, sampling out of range;
  // kResourceExhausted: prompt longer than the context, with both numbers.
  RequestId submit(Request request, TextSink& sink);

  // Ends a request at the next step border; its sink gets kCancelled. Unknown ids are ignored.
  void cancel(RequestId id);

  // One step over the running sequences. False when nothing is running or waiting.
  bool step();

  // Rows computed so far, prompts and generated tokens together.
  [[nodiscard]] int64_t n_rows_computed() const { return n_rows_computed_; }

  // What the prefix cache has done; null where it is off.
  [[nodiscard]] const kv::PrefixCache* prefix_cache() const { return cache_.get(); }

  // Time spent so far on choosing tokens from logits.
  [[nodiscard]] double sampling_seconds() const { return sampling_s_; }

 private:
  void check(const Request& request) const;
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
