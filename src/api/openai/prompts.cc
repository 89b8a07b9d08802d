// Renders, encodes, cuts.
// Called by api/openai/handler. Read next: codec/chat_template.cc.
#include "api/openai/prompts.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "api/openai/errors.h"
#include "base/error.h"
#include "codec/json_text.h"

namespace fathom::api::openai {

namespace {

using Json = nlohmann::ordered_json;

// OpenAI's messages have the arguments of a call as JSON in a text; templates expect the object.
void open_arguments(Json& message, size_t index) {
  const auto calls = message.find("tool_calls");
  if (calls == message.end() || !calls->is_array()) {
    return;
  }
  for (size_t i = 0; i < calls->size(); ++i) {
    Json& call = calls->at(i);
    if (!call.is_object() || !call.contains("function") || !call["function"].is_object()) {
      continue;
    }
    const auto arguments = call["function"].find("arguments");
    if (arguments == call["function"].end() || !arguments->is_string()) {
      continue;
    }
    const auto& text = arguments->get_ref<const std::string&>();
    Json opened = codec::find_too_deep(text) == std::string::npos
                      ? Json::parse(text.empty() ? "{}" : text, nullptr, false)
                      : Json(Json::value_t::discarded);
    if (!opened.is_object()) {
      throw RequestError(Cause::kBadRequest,
                         fmt::format("messages[{}].tool_calls[{}].function.arguments: expected a "
                                     "JSON object as text",
                                     index, i),
                         "messages");
    }
    *arguments = std::move(opened);
  }
}

// Messages as templates know them.
std::string template_messages(const std::string& messages, bool knows_developer) {
  const bool has_calls = messages.find("\"tool_calls\"") != std::string::npos;
  const bool has_developer = messages.find("\"developer\"") != std::string::npos;
  if (!has_calls && (!has_developer || knows_developer)) {
    return messages;
  }
  Json list = Json::parse(messages);
  for (size_t i = 0; i < list.size(); ++i) {
    open_arguments(list[i], i);
    if (!knows_developer && list[i].value("role", Json()) == "developer") {
      list[i]["role"] = "system";
    }
  }
  return list.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void truncate(MadePrompt& prompt, int64_t keep) {
  const int64_t n_over = std::ssize(prompt.ids) - keep;
  if (keep < 0 || n_over <= 0) {
    return;
  }
  prompt.ids.erase(prompt.ids.begin(), prompt.ids.begin() + n_over);
  prompt.n_unkept = n_over;
  prompt.added_bos = false;
}

}  // namespace

PromptMaker::PromptMaker(const codec::Tokenizer& tokenizer, std::optional<codec::ChatTemplate> chat)
    : tokenizer_(&tokenizer), chat_(std::move(chat)) {}

void PromptMaker::check_ids(const std::vector<int32_t>& ids, std::string_view field) const {
  const auto n_vocab = std::ssize(tokenizer_->vocabulary().texts);
  for (const int32_t id : ids) {
    if (id < 0 || id >= n_vocab) {
      throw RequestError(
          Cause::kBadRequest,
          fmt::format("{}: token id {} is not in the vocabulary (0 to {})", field, id, n_vocab - 1),
          std::string(field));
    }
  }
}

codec::jinja::Rendered PromptMaker::render(codec::Conversation conversation) const {
  if (!chat_) {
    throw RequestError(Cause::kNotOffered,
                       "the model has no chat template; use /v1/completions, or start the server "
                       "with --chat-template",
                       "messages");
  }
  try {
    conversation.messages = template_messages(conversation.messages, chat_->knows_developer());
    return chat_->render(conversation);
  } catch (const RequestError&) {
    throw;
  } catch (const Error& error) {
    throw RequestError(cause_of(error) == Cause::kInternal ? Cause::kInternal : Cause::kBadRequest,
                       fmt::format("the chat template refuses the request: {}", error.what()),
                       "messages");
  }
}

MadePrompt PromptMaker::make_one(const Prompt& prompt, bool add_special) const {
  MadePrompt made;
  if (const auto* ids = std::get_if<std::vector<int32_t>>(&prompt)) {
    check_ids(*ids, "prompt");
    made.ids = *ids;
    made.text = tokenizer_->decode(made.ids, true);
    return made;
  }
  made.text = std::get<std::string>(prompt);
  made.ids = tokenizer_->encode(made.text, {.add_special = add_special, .parse_special = true});
  const codec::Vocabulary& vocabulary = tokenizer_->vocabulary();
  made.added_bos =
      add_special && vocabulary.add_bos && !made.ids.empty() && made.ids.front() == vocabulary.bos;
  if (made.ids.empty()) {
    throw RequestError(Cause::kBadRequest,
                       "prompt is an empty text, which gives no token to begin with", "prompt");
  }
  return made;
}

std::vector<MadePrompt> PromptMaker::make(const AnswerRequest& request) const {
  std::vector<MadePrompt> made;
  if (request.is_chat) {
    made.emplace_back().ids =
        codec::encode_rendered(*tokenizer_, render(*request.conversation)).ids;
  } else {
    for (const Prompt& prompt : request.prompts) {
      made.push_back(make_one(prompt, request.add_special));
    }
  }
  for (MadePrompt& prompt : made) {
    truncate(prompt, request.truncate_to);
    if (prompt.n_unkept > 0 && !request.is_chat) {
      prompt.text = tokenizer_->decode(prompt.ids, true);
    }
  }
  return made;
}

std::vector<std::vector<int32_t>> PromptMaker::ids_of_words(
    const std::vector<std::string>& words) const {
  std::vector<std::vector<int32_t>> all;
  for (const std::string& word : words) {
    std::vector<int32_t> alone = tokenizer_->encode(word, {});
    std::vector<int32_t> behind = tokenizer_->encode(" " + word, {});
    if (!behind.empty() && behind != alone) {
      all.push_back(std::move(behind));
    }
    if (!alone.empty()) {
      all.push_back(std::move(alone));
    }
  }
  return all;
}

}  // namespace fathom::api::openai
