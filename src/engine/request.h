// What a user asked for, in tokens, and where its tokens go.
// Called by api/generator. Read next: engine/engine.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kv/prefix_key.h"
#include "sample/sampler.h"

namespace fathom::engine {

using RequestId = uint64_t;
using Clock = std::chrono::steady_clock;

struct Request {
  std::vector<int32_t> prompt;      // at least one id
  sample::SamplingParams sampling;  // seed already chosen
  int64_t max_tokens = -1;          // -1: until the context is full
  std::vector<int32_t> end_tokens;  // ids that end the answer; empty: none (ignore_eos)
  std::string cache_salt;           // prompts share cached pages only with those of the same salt
  uint32_t choice = 0;              // index among the choices of one prompt, keys the generator
  int priority = 0;                 // lower ones run first; see EngineOptions::priority_aging
  double deadline_s = 0;            // from submission to the last token; 0: none
  double queue_timeout_s = 0;       // from submission to admission; 0: none
  int64_t min_tokens = 0;           // no end token is drawn before so many tokens
  bool context_shift = false;       // a full context does not end it, see Sequence::shift
  int64_t n_keep = 0;               // first tokens of the prompt that a shift leaves
  int n_prompt_logprobs = -1;       // -1: none; k: of each token of the prompt, and the k best
};

enum class FinishReason : uint8_t {
  kStop,
  kLength,
  kCancelled,
  kError,
  kDeadline,      // deadline_s is over; the tokens so far were given
  kQueueTimeout,  // queue_timeout_s is over; nothing was computed
};

// "stop", "length", "cancelled", "error", "deadline", "queue_timeout"
std::string_view name_of(FinishReason reason);

struct TokenEvent {
  int32_t id = 0;
  const sample::Sampled* sampled = nullptr;  // logprobs when asked; valid during the call
  bool is_end = false;                       // an end token: the answer stops after it
};

// Counts of one request, in its final event.
struct Usage {
  int64_t prompt_tokens = 0;
  int64_t generated_tokens = 0;
  int64_t cached_tokens = 0;      // of the prompt, taken over from earlier requests
  double prefill_s = 0;           // from admission to the first token
  double decode_s = 0;            // from the first token to the last
  int64_t rows_after_prompt = 0;  // rows computed for steps after the first token
  double queue_s = 0;             // from submission to the first admission
  int64_t n_shifts = 0;           // times the context was full and its middle was dropped
  int64_t n_preemptions = 0;      // times its pages went to others and were computed again
  kv::CacheEnd cache_end = kv::CacheEnd::kOff;  // why cached_tokens is not more
};

// Where a request's tokens go; called on the step thread. Implemented over codec, joined in api.
// What a sink throws ends its own request (kError) and no other.
class TextSink {
 public:
  virtual ~TextSink() = default;

  // Once, before the first token, where n_prompt_logprobs asked for it: entry i tells of prompt
  // token i + 1 (nothing comes before the first). Valid during the call.
  virtual void on_prompt(std::span<const sample::Sampled> logprobs) { (void)logprobs; }

  // False: stop here (a stop string is complete, or the reader is gone).
  virtual bool on_token(const TokenEvent& event) = 0;

  // Exactly once per request, also when it was refused. `message` is empty unless kError.
  virtual void on_finish(FinishReason reason, const Usage& usage, std::string_view message) = 0;
};

}  // namespace fathom::engine
