// The generation entry: prompt in, stream of text pieces out; used by every front end alike.
// Called by apps/run, later by the server. Read next: engine/engine.h, codec/detokenizer.h.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/session.h"
#include "engine/request.h"
#include "sample/sampler.h"

namespace fathom::api {

struct GenerateOptions {
  std::vector<int32_t> prompt;  // ids; see codec/chat_template and Tokenizer::encode
  sample::SamplingParams sampling;
  int64_t max_tokens = -1;
  std::vector<std::string> stops;
  bool ignore_eos = false;
  bool continues_text = false;  // a raw completion: the first blank of the answer is kept
  uint32_t choice = 0;          // index among several answers to one prompt, keys the generator
  std::function<void(std::string_view)> on_text;  // certain text, whole characters; may be empty
  std::function<bool()> cancelled;                // asked after every step; may be empty
  std::function<void(int64_t)> on_step;           // after every step, with rows computed so far
};

struct TokenResult {
  int32_t id = 0;
  float logprob = 0;
  std::vector<sample::TokenLogprob> best;
};

struct GenerateResult {
  std::vector<int32_t> tokens;  // all sampled ids, the end token included
  std::string text;
  engine::FinishReason reason = engine::FinishReason::kStop;
  engine::Usage usage;
  double ttft_s = 0;                  // from the call to the first token
  std::vector<TokenResult> logprobs;  // when asked
};

// Runs one request to its end. Errors: those of Engine::submit; kInternal for a numeric fault
// (layer and tensor named).
GenerateResult generate(Session& session, const GenerateOptions& options);

}  // namespace fathom::api
