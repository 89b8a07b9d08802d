// Prompts of requests as token ids: chat templates, texts, ids, and what is cut off on request.
// Called by api/openai/handler. Read next: codec/chat_template.h, api/openai/request.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/openai/request.h"
#include "codec/chat_template.h"
#include "codec/tokenizer.h"

namespace fathom::api::openai {

struct MadePrompt {
  std::vector<int32_t> ids;
  std::string text;        // of a completion: for echo
  int64_t n_unkept = 0;    // tokens cut off at the begin
  bool added_bos = false;  // the first id stands for nothing in `text`
};

// Thread rule: any thread.
class PromptMaker {
 public:
  // The tokenizer must outlive the maker. Without a template chats are refused.
  PromptMaker(const codec::Tokenizer& tokenizer, std::optional<codec::ChatTemplate> chat);

  // One for a chat, one for each prompt of a completion. Errors: RequestError (a template that
  // refuses the messages, an id outside the vocabulary, arguments of tool calls that are no JSON).
  [[nodiscard]] std::vector<MadePrompt> make(const AnswerRequest& request) const;

  // The prompt of a conversation, as text. Errors as of make().
  [[nodiscard]] codec::jinja::Rendered render(codec::Conversation conversation) const;

  // What must not be drawn in a row for each text: its ids alone, and behind a blank.
  [[nodiscard]] std::vector<std::vector<int32_t>> ids_of_words(
      const std::vector<std::string>& words) const;

  // Error: RequestError naming `field` for an id outside the vocabulary.
  void check_ids(const std::vector<int32_t>& ids, std::string_view field) const;

  [[nodiscard]] const codec::Tokenizer& tokenizer() const { return *tokenizer_; }

 private:
  [[nodiscard]] MadePrompt make_one(const Prompt& prompt, bool add_special) const;

  const codec::Tokenizer* tokenizer_;
  std::optional<codec::ChatTemplate> chat_;
};

}  // namespace fathom::api::openai
