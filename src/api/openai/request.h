// A request for an answer, read from its body: all that needs no model yet.
// Called by api/openai/handler. Read next: api/openai/body.h, api/openai/prompts.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/model_sampling.h"
#include "api/openai/body.h"
#include "codec/conversation.h"
#include "sample/sampler.h"

namespace fathom::api::openai {

// What the server takes where a request is silent.
struct Defaults {
  ModelSampling sampling;      // what the model's publisher recommends
  double deadline_s = 0;       // 0: none
  double queue_timeout_s = 0;  // 0: none
};

struct AnswerRequest {
  bool is_chat = true;
  std::string model;                                // "": the served one
  std::optional<codec::Conversation> conversation;  // of a chat
  std::vector<Prompt> prompts;                      // of completions
  bool add_special = true;
  bool echo = false;
  int64_t truncate_to = -1;  // tokens of the prompt to keep; -1: all
  std::string cache_salt;    // "": none was given

  int64_t max_tokens = -1;  // -1: until the context is full; 0: look at the prompt only
  int64_t min_tokens = 0;
  std::vector<std::string> stops;
  std::vector<int32_t> stop_ids;
  bool include_stop = false;
  bool ignore_eos = false;
  bool context_shift = false;
  int64_t n_keep = 0;

  int64_t n_choices = 1;
  std::optional<int64_t> seed;
  sample::SamplingParams sampling;     // but for the seed and bad_words
  std::vector<std::string> bad_words;  // texts
  int n_prompt_logprobs = -1;          // asked for by prompt_logprobs

  bool is_stream = false;
  bool include_usage = false;  // in a stream
  bool return_ids = false;
  int64_t priority = 0;
  double deadline_s = 0;
  double queue_timeout_s = 0;
  std::vector<std::string> ignored;  // names of fields that cannot change the answer
};

// `route`: kChat or kCompletions. Errors: RequestError as of Body::parse; fields that contradict
// each other.
AnswerRequest parse_answer_request(std::string_view body, Route route, const Defaults& defaults);

// The conversation of a body that Body::parse has passed. Error: RequestError.
codec::Conversation read_conversation(std::string_view text, const Body& body);

}  // namespace fathom::api::openai
