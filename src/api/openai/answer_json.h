// Answers as OpenAI's objects: whole ones, and the chunks of streams.
// Called by api/openai/answer. Read next: api/openai/answer_json.cc, api/openai/logprobs_json.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/openai/parts.h"
#include "codec/tokenizer.h"

namespace fathom::api::openai {

// One prompt of a request, as far as answers tell of it.
struct PromptFacts {
  std::vector<int32_t> ids;  // where an answer needs them
  std::string echo;          // text that answers begin with
  int64_t n_unkept = 0;      // tokens cut off at the begin
  bool added_bos = false;    // the first id is not in the text
};

// What all parts of an answer say alike.
struct AnswerFacts {
  bool is_chat = true;
  bool is_stream = false;
  std::string id;  // "chatcmpl-...", "cmpl-..."
  int64_t created = 0;
  std::string model;
  std::string fingerprint;
  int64_t seed = 0;
  int n_logprobs = -1;  // of the answer's tokens
  bool wants_prompt_logprobs = false;
  bool has_echo = false;
  bool return_ids = false;
  bool include_usage = false;   // of streams
  bool continues_text = false;  // the first blank of an answer is its own
  int64_t n_choices = 1;        // for each prompt
  std::vector<PromptFacts> prompts;
};

struct AnswerUsage {
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;
  int64_t generated_tokens = 0;
};

// Makes the JSON of one answer; keeps for each choice how far its text has come. One thread at a
// time. The tokenizer must outlive it.
class AnswerJson {
 public:
  AnswerJson(const codec::Tokenizer& tokenizer, AnswerFacts facts);

  [[nodiscard]] const AnswerFacts& facts() const { return facts_; }

  // The answer to a request that is not streamed. `choices` in order, each ended.
  std::string whole(std::span<const ChoiceNews> choices, const AnswerUsage& usage);

  // Adds the events that tell of these news: the first ones of a choice begin with its role or its
  // echo, the last ones with its finish_reason. Nothing for news without text and tokens.
  void append_events(size_t choice, const ChoiceNews& news, std::string& out);

  // The event with the counts, before the last.
  void append_usage_event(const AnswerUsage& usage, std::string& out) const;

 private:
  struct Maker;

  // How far a choice has come.
  struct Progress {
    bool has_begun = false;
    bool has_token = false;
    int64_t n_characters = 0;  // of the text so far, by tokens
  };

  [[nodiscard]] const PromptFacts& prompt_of(size_t choice) const;

  const codec::Tokenizer* tokenizer_;
  AnswerFacts facts_;
  std::vector<Progress> progress_;
};

}  // namespace fathom::api::openai
