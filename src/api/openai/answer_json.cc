// One builder for whole answers and chunks: they differ in a few names.
// Called by api/openai/answer. Source: OpenAI's API reference, "chat completion object" and
// "chunk".
#include "api/openai/answer_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/openai/logprobs_json.h"

namespace fathom::api::openai {

namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void append_event(const Json& value, std::string& out) {
  out += "data: ";
  out += dump(value);
  out += "\n\n";
}

Json head_of(const AnswerFacts& facts) {
  const char* object = facts.is_chat
                           ? (facts.is_stream ? "chat.completion.chunk" : "chat.completion")
                           : "text_completion";
  return {{"id", facts.id},
          {"object", object},
          {"created", facts.created},
          {"model", facts.model},
          {"system_fingerprint", facts.fingerprint}};
}

// What the first event of a stream, and a whole answer, say besides: the seed, what was cut off.
void add_notes(const AnswerFacts& facts, Json& answer) {
  answer["seed"] = facts.seed;
  Json cuts = Json::array();
  bool is_cut = false;
  for (const PromptFacts& prompt : facts.prompts) {
    const auto n_kept = std::ssize(prompt.ids);
    is_cut = is_cut || prompt.n_unkept > 0;
    cuts.push_back({{"prompt_tokens", prompt.n_unkept + n_kept},
                    {"kept_from", prompt.n_unkept},
                    {"kept_tokens", n_kept}});
  }
  if (is_cut) {
    answer["truncated"] = true;
    answer["truncation"] = std::move(cuts);
  }
}

Json usage_json(const AnswerUsage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.generated_tokens},
          {"total_tokens", usage.prompt_tokens + usage.generated_tokens},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}}};
}

Json stop_reason(const ChoiceEnd& end) {
  if (!end.stop_text.empty()) {
    return end.stop_text;
  }
  return end.stop_id ? Json(*end.stop_id) : Json();
}

void add_end(const ChoiceNews& news, Json& choice) {
  choice["finish_reason"] = news.end ? Json(engine::name_of(news.end->reason)) : Json();
  if (news.end) {
    choice["stop_reason"] = stop_reason(*news.end);
    if (news.end->usage.n_shifts > 0) {
      choice["context_shifts"] = news.end->usage.n_shifts;
    }
  }
}

// Tokens of the context were dropped while this choice was made.
bool has_shifted(const ChoiceNews& news) {
  return news.end && news.end->usage.n_shifts > 0;
}

void add_ids(const ChoiceNews& news, Json& choice) {
  Json ids = Json::array();
  for (const TokenPart& token : news.tokens) {
    ids.push_back(token.sampled.id);
  }
  choice["token_ids"] = std::move(ids);
}

}  // namespace

// The parts that need the tokenizer and how far a choice has come.
struct AnswerJson::Maker {
  AnswerJson& answer;
  size_t choice;

  [[nodiscard]] Progress& progress() const { return answer.progress_[choice]; }

  // Whether the token about to be written begins the answer's text.
  [[nodiscard]] bool take_start() const {
    const bool is_first = !progress().has_token;
    progress().has_token = true;
    return is_first && !answer.facts_.continues_text;
  }

  [[nodiscard]] Json chat_logprobs(const ChoiceNews& news) const {
    Json content = Json::array();
    for (const TokenPart& token : news.tokens) {
      if (!token.is_end) {
        content.push_back(token_json(*answer.tokenizer_, token.sampled, take_start()));
      }
    }
    return {{"content", std::move(content)}, {"refusal", nullptr}};
  }

  [[nodiscard]] Json legacy_logprobs(const ChoiceNews& news, bool with_prompt) const {
    LegacyLogprobs lists(*answer.tokenizer_, progress().n_characters);
    if (with_prompt) {
      const PromptFacts& prompt = answer.prompt_of(choice);
      lists.add_first(prompt.ids.front(), prompt.added_bos);
      for (const sample::Sampled& sampled : news.prompt) {
        lists.add(sampled, false);
      }
    }
    for (const TokenPart& token : news.tokens) {
      if (!token.is_end) {
        lists.add(token.sampled, take_start());
      }
    }
    progress().n_characters = lists.n_characters();
    return lists.take();
  }

  [[nodiscard]] Json logprobs(const ChoiceNews& news, bool with_prompt) const {
    if (answer.facts_.n_logprobs < 0) {
      return nullptr;
    }
    return answer.facts_.is_chat ? chat_logprobs(news) : legacy_logprobs(news, with_prompt);
  }

  // An event's object with one choice; `delta` is a chat's.
  [[nodiscard]] Json chunk(Json delta, std::string_view text, Json logprobs_of) const {
    Json one = {{"index", choice}};
    if (answer.facts_.is_chat) {
      one["delta"] = std::move(delta);
    } else {
      one["text"] = text;
    }
    one["logprobs"] = std::move(logprobs_of);
    one["finish_reason"] = nullptr;
    Json event = head_of(answer.facts_);
    event["choices"] = Json::array({std::move(one)});
    if (answer.facts_.include_usage) {
      event["usage"] = nullptr;
    }
    return event;
  }

  // The first event of a choice: a chat's role, a completion's echo.
  void append_begin(const ChoiceNews& news, std::string& out) const {
    const AnswerFacts& facts = answer.facts_;
    ChoiceNews only_prompt;
    only_prompt.prompt = news.prompt;
    Json event = chunk({{"role", "assistant"}, {"content", ""}},
                       facts.has_echo ? std::string_view(answer.prompt_of(choice).echo) : "",
                       facts.has_echo && !facts.is_chat ? logprobs(only_prompt, true) : nullptr);
    if (facts.return_ids) {
      event["choices"][0]["prompt_token_ids"] = answer.prompt_of(choice).ids;
    }
    add_notes(facts, event);
    append_event(event, out);
  }
};

AnswerJson::AnswerJson(const codec::Tokenizer& tokenizer, AnswerFacts facts)
    : tokenizer_(&tokenizer),
      facts_(std::move(facts)),
      progress_(facts_.prompts.size() * static_cast<size_t>(facts_.n_choices)) {}

const PromptFacts& AnswerJson::prompt_of(size_t choice) const {
  return facts_.prompts[choice / static_cast<size_t>(facts_.n_choices)];
}

std::string AnswerJson::whole(std::span<const ChoiceNews> choices, const AnswerUsage& usage) {
  Json answer = head_of(facts_);
  Json list = Json::array();
  for (size_t i = 0; i < choices.size(); ++i) {
    const ChoiceNews& news = choices[i];
    const PromptFacts& prompt = prompt_of(i);
    const Maker maker{*this, i};
    Json choice = {{"index", i}};
    if (facts_.is_chat) {
      choice["message"] = {{"role", "assistant"}, {"content", news.text}, {"refusal", nullptr}};
    } else {
      choice["text"] = facts_.has_echo ? prompt.echo + news.text : news.text;
    }
    choice["logprobs"] = maker.logprobs(news, facts_.has_echo);
    add_end(news, choice);
    // The prompt's part of a chat, which has but one, is the answer's; else the choice's.
    Json& prompt_place = facts_.is_chat ? answer : choice;
    if (facts_.return_ids) {
      prompt_place["prompt_token_ids"] = prompt.ids;
      add_ids(news, choice);
    }
    if (facts_.wants_prompt_logprobs && (!facts_.is_chat || i == 0)) {
      prompt_place["prompt_logprobs"] = prompt_json(*tokenizer_, news.prompt);
    }
    list.push_back(std::move(choice));
  }
  answer["choices"] = std::move(list);
  answer["usage"] = usage_json(usage);
  add_notes(facts_, answer);
  if (std::ranges::any_of(choices, has_shifted)) {
    answer["truncated"] = true;
  }
  return dump(answer);
}

void AnswerJson::append_events(size_t choice, const ChoiceNews& news, std::string& out) {
  const Maker maker{*this, choice};
  Progress& progress = progress_[choice];
  // What is known of a prompt comes before its first token, and may be written before it.
  if (!progress.has_begun && (!news.prompt.empty() || !news.times.empty() || news.end)) {
    progress.has_begun = true;
    maker.append_begin(news, out);
  }
  if (!news.text.empty() || !news.tokens.empty()) {
    Json event = maker.chunk({{"content", news.text}}, news.text, maker.logprobs(news, false));
    if (facts_.return_ids) {
      add_ids(news, event["choices"][0]);
    }
    append_event(event, out);
  }
  if (news.end) {
    Json event = maker.chunk(Json::object(), "", nullptr);
    add_end(news, event["choices"][0]);
    if (has_shifted(news)) {
      event["truncated"] = true;
    }
    append_event(event, out);
  }
}

void AnswerJson::append_usage_event(const AnswerUsage& usage, std::string& out) const {
  Json event = head_of(facts_);
  event["choices"] = Json::array();
  event["usage"] = usage_json(usage);
  append_event(event, out);
}

}  // namespace fathom::api::openai
