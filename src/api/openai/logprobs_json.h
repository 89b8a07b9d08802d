// Log-probabilities in OpenAI's two forms: a list of tokens in chats, lists side by side in
// completions.
// Called by api/openai/answer_json. Read next: api/openai/token_names.h.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "api/openai/parts.h"
#include "codec/tokenizer.h"

namespace fathom::api::openai {

// One token and the best ones at its place: {"token", "logprob", "bytes", "top_logprobs"}. JSON has
// no infinities: a token that is impossible has -9999, as OpenAI's.
nlohmann::ordered_json token_json(const codec::Tokenizer& tokenizer, const sample::Sampled& sampled,
                                  bool at_start);

// Log-probabilities of a prompt's tokens: null for the first, which nothing comes before, and
// token_json of the others.
nlohmann::ordered_json prompt_json(const codec::Tokenizer& tokenizer,
                                   std::span<const sample::Sampled> prompt);

// The lists of a completion: tokens, token_logprobs, top_logprobs, text_offset, bytes.
class LegacyLogprobs {
 public:
  // `n_characters` of the text stand before the first token.
  LegacyLogprobs(const codec::Tokenizer& tokenizer, int64_t n_characters);
  ~LegacyLogprobs();
  LegacyLogprobs(const LegacyLogprobs&) = delete;
  LegacyLogprobs& operator=(const LegacyLogprobs&) = delete;

  void add(const sample::Sampled& sampled, bool at_start);

  // A token without a probability: the first of a prompt. `is_silent`: it has no text either.
  void add_first(int32_t id, bool is_silent);

  [[nodiscard]] nlohmann::ordered_json take();

  [[nodiscard]] int64_t n_characters() const { return n_characters_; }

 private:
  struct Lists;

  void add_token(int32_t id, const std::string& bytes);

  const codec::Tokenizer* tokenizer_;
  int64_t n_characters_;
  std::unique_ptr<Lists> lists_;
};

}  // namespace fathom::api::openai
