// The table. A field that does nothing is a bug: tests/src/api/openai uses every one that is used.
// Called by api/openai/body. Read next: api/openai/body.h.
#include "api/openai/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace fathom::api::openai {

namespace {

using enum FieldType;
using enum FieldUse;

constexpr uint8_t kAnswers = kChat | kCompletions;
constexpr uint8_t kTalks = kChat | kTokenize | kTemplate;  // that take messages
constexpr uint8_t kAll = kAnswers | kTokenize | kDetokenize | kTemplate;
constexpr double kMost = 2147483647;
constexpr double kSeeds = 9223372036854775807.0;  // of 64 bits

constexpr std::string_view kNoTools =
    "answers with tool calls are not taken apart yet; definitions of tools go into the prompt with "
    "tool_choice \"none\"";
constexpr std::string_view kNoSchema = "answers cannot be held to a schema or grammar yet";
constexpr std::string_view kNoAdapters = "an adapter cannot be chosen per request yet";

// clang-format off
constexpr auto kFields = std::to_array<Field>({
    // What to answer.
    {"model", kAll, kUsed, kText, 1, 256, "the served model", "Name of the model; one that is not served is refused with 404"},
    {"messages", kTalks, kUsed, kMessages, 1, 100000, "", "The conversation; roles system, developer, user, assistant, tool; content a text or a list of {\"type\": \"text\"} parts"},
    {"prompt", kCompletions, kUsed, kPrompt, 1, 256, "", "Text, token ids, or a list of either: each is answered, its choices following those of the one before"},
    {"prompt", kTokenize, kUsed, kText, 0, kNoLimit, "", "The text"},
    {"content", kTokenize, kUsed, kText, 0, kNoLimit, "", "The text, under another name"},
    {"tokens", kDetokenize, kUsed, kIds, 0, kMost, "", "The token ids"},
    {"tools", kTalks, kUsed, kList, 0, kNoLimit, "null", "Definitions of tools for the chat template; an answer may have them only with tool_choice \"none\""},
    {"documents", kTalks, kUsed, kList, 0, kNoLimit, "null", "Documents for the chat template"},
    {"add_generation_prompt", kTalks, kUsed, kBool, 0, 0, "true, false with continue_final_message", "Open the assistant's turn at the end of the prompt"},
    {"continue_final_message", kTalks, kUsed, kBool, 0, 0, "false", "End the prompt inside of the last message, for the model to go on with it"},
    {"chat_template_kwargs", kTalks, kUsed, kObject, 0, kNoLimit, "{}", "Further variables of the chat template, such as {\"enable_thinking\": false}"},
    {"add_special_tokens", kCompletions | kTokenize, kUsed, kBool, 0, 0, "true", "Add what the tokenizer adds around a text (BOS, EOS); of a text only"},
    {"add_special", kTokenize, kUsed, kBool, 0, 0, "true", "add_special_tokens, under another name"},
    {"parse_special", kTokenize, kUsed, kBool, 0, 0, "true", "Control tokens written in the text become their ids, as in /v1/completions; false: they stay text"},
    {"return_token_strs", kTokenize, kUsed, kBool, 0, 0, "false", "Give the text of each token as well"},
    {"skip_special_tokens", kDetokenize, kUsed, kBool, 0, 0, "false", "Leave control tokens out of the text"},
    {"truncate_prompt_tokens", kAnswers, kUsed, kInteger, 1, kMost, "off", "Keep only the last so many tokens of the prompt; the answer says what was kept in truncated"},
    {"echo", kCompletions, kUsed, kBool, 0, 0, "false", "Begin the text with the prompt"},
    {"cache_salt", kAnswers, kUsed, kText, 1, 256, "the API key's", "Share cached pages of prompts with requests of the same salt only"},
    // How long.
    {"max_tokens", kChat, kUsed, kInteger, 1, kMost, "until the context is full", "Tokens of the answer at most"},
    {"max_tokens", kCompletions, kUsed, kInteger, 0, kMost, "16", "Tokens of the answer at most; 0 with echo or prompt_logprobs: look at the prompt only"},
    {"max_completion_tokens", kChat, kUsed, kInteger, 1, kMost, "max_tokens", "max_tokens under its newer name; both must agree"},
    {"min_tokens", kAnswers, kUsed, kInteger, 0, kMost, "0", "End tokens are not drawn before so many tokens, and stop strings do not end the answer"},
    {"stop", kAnswers, kUsed, kTexts, 0, 64, "none", "Texts that end the answer, which stops before them"},
    {"stop_token_ids", kAnswers, kUsed, kIds, 0, 1024, "[]", "Further token ids that end the answer"},
    {"include_stop_str_in_output", kAnswers, kUsed, kBool, 0, 0, "false", "Keep the text that ended the answer at its end"},
    {"context_shift", kAnswers, kUsed, kBool, 0, 0, "false", "Go on when the context is full: the older half of the tokens behind n_keep is dropped; with max_tokens only"},
    {"n_keep", kAnswers, kUsed, kInteger, 0, kMost, "0", "With context_shift: so many first tokens of the prompt are never dropped"},
    {"ignore_eos", kAnswers, kUsed, kBool, 0, 0, "false", "The model's own end tokens end nothing"},
    // How tokens are drawn.
    {"n", kAnswers, kUsed, kInteger, 1, 128, "1", "Choices for each prompt, which is computed once"},
    {"seed", kAnswers, kUsed, kInteger, -kSeeds, kSeeds, "drawn", "Fixes the draws: the same request gives the same answer, alone and under load; the answer's seed says which was used"},
    {"temperature", kAnswers, kUsed, kNumber, 0, 100, "the model's own, else 1", "0: always the likeliest token; above 1 flatter, below sharper"},
    {"top_p", kAnswers, kUsed, kNumber, 0, 1, "the model's own, else 1", "Draw among the likeliest tokens that reach this probability together"},
    {"top_k", kAnswers, kUsed, kInteger, -1, kMost, "the model's own, else 0", "Draw among the k likeliest tokens; 0 and -1: all"},
    {"min_p", kAnswers, kUsed, kNumber, 0, 1, "the model's own, else 0", "Draw among tokens at least so likely, as a share of the likeliest"},
    {"presence_penalty", kAnswers, kUsed, kNumber, -2, 2, "0", "Taken off the logit of tokens that the answer holds"},
    {"frequency_penalty", kAnswers, kUsed, kNumber, -2, 2, "0", "Taken off for each time that the answer holds the token"},
    {"repetition_penalty", kAnswers, kUsed, kNumber, 0.01, 100, "the model's own, else 1", "Divides positive and multiplies negative logits of tokens that prompt or answer hold"},
    {"logit_bias", kAnswers, kUsed, kBias, -100, 100, "{}", "Added to the logits of these tokens"},
    {"allowed_token_ids", kAnswers, kUsed, kIds, 1, kMost, "all", "Draw no other tokens"},
    {"bad_words", kAnswers, kUsed, kTexts, 0, 256, "[]", "Texts whose tokens, alone and behind a blank, are not drawn in a row"},
    // What comes with the answer.
    {"stream", kAnswers, kUsed, kBool, 0, 0, "false", "Send the answer as server-sent events while it is made"},
    {"stream_options", kAnswers, kUsed, kObject, 0, kNoLimit, "{}", "With stream only. include_usage: a last event with the counts; include_obfuscation: ignored"},
    {"logprobs", kChat, kUsed, kBool, 0, 0, "false", "Give the log-probability of each token: of the model's own distribution, before penalties, temperature and cuts"},
    {"top_logprobs", kChat, kUsed, kInteger, 0, 100, "0", "With logprobs: the likeliest so many at each place as well"},
    {"logprobs", kCompletions, kUsed, kInteger, 0, 100, "off", "Give the log-probability of each token and of the likeliest so many"},
    {"post_sampling_logprobs", kAnswers, kUsed, kBool, 0, 0, "false", "Log-probabilities of the distribution that was drawn from instead: after penalties, temperature and cuts"},
    {"prompt_logprobs", kAnswers, kUsed, kInteger, 0, 100, "off", "Give those of the prompt's tokens, in prompt_logprobs; not with stream"},
    {"return_token_ids", kAnswers, kUsed, kBool, 0, 0, "false", "Give token ids of prompt and answer: prompt_token_ids, token_ids"},
    // When.
    {"priority", kAnswers, kUsed, kInteger, -1000000, 1000000, "0", "Lower goes first"},
    {"deadline_seconds", kAnswers, kUsed, kNumber, 0, 1e9, "0, the server's", "End the request, with an error, so long after it came; 0: no deadline of its own"},
    {"queue_timeout_seconds", kAnswers, kUsed, kNumber, 0, 1e9, "0, the server's", "End it when it has not begun so long after it came"},
    // Cannot change the answer.
    {"user", kAnswers, kIgnored, kAny, 0, 0, "", "No accounts of users are kept"},
    {"metadata", kAnswers, kIgnored, kAny, 0, 0, "", "Nothing is stored"},
    {"store", kAnswers, kIgnored, kAny, 0, 0, "", "Nothing is stored"},
    {"service_tier", kAnswers, kIgnored, kAny, 0, 0, "", "There is one"},
    {"safety_identifier", kAnswers, kIgnored, kAny, 0, 0, "", "No accounts of users are kept"},
    {"prompt_cache_key", kAnswers, kIgnored, kAny, 0, 0, "", "Prompts that begin alike share their pages anyway"},
    {"prompt_cache_retention", kAnswers, kIgnored, kAny, 0, 0, "", "Pages are kept while there is room"},
    {"parallel_tool_calls", kChat, kIgnored, kAny, 0, 0, "", "Answers have no tool calls yet"},
    // One value only.
    {"tool_choice", kTalks, kOnly, kAny, 0, 0, "\"none\"", kNoTools},
    {"response_format", kAnswers, kOnly, kAny, 0, 0, "{\"type\":\"text\"}", kNoSchema},
    {"best_of", kCompletions, kOnly, kAny, 0, 0, "1", "choices are not ranked; n gives them all"},
    {"modalities", kChat, kOnly, kAny, 0, 0, "[\"text\"]", "answers are text"},
    {"skip_special_tokens", kAnswers, kOnly, kAny, 0, 0, "true", "control tokens have no text in an answer; return_token_ids shows them"},
    {"spaces_between_special_tokens", kAnswers, kOnly, kAny, 0, 0, "true", "control tokens have no text in an answer"},
    {"detokenize", kAnswers, kOnly, kAny, 0, 0, "true", "answers are text; return_token_ids gives ids as well"},
    {"use_beam_search", kAnswers, kOnly, kAny, 0, 0, "false", "there is no beam search"},
    {"length_penalty", kAnswers, kOnly, kAny, 0, 0, "1.0", "there is no beam search"},
    // Known elsewhere, refused here.
    {"suffix", kCompletions, kRefused, kAny, 0, 0, "", "text cannot be filled in before a suffix"},
    {"functions", kChat, kRefused, kAny, 0, 0, "", kNoTools},
    {"function_call", kChat, kRefused, kAny, 0, 0, "", kNoTools},
    {"json_schema", kAnswers, kRefused, kAny, 0, 0, "", kNoSchema},
    {"grammar", kAnswers, kRefused, kAny, 0, 0, "", kNoSchema},
    {"structured_outputs", kAnswers, kRefused, kAny, 0, 0, "", kNoSchema},
    {"guided_json", kAnswers, kRefused, kAny, 0, 0, "", kNoSchema},
    {"guided_regex", kAnswers, kRefused, kAny, 0, 0, "", kNoSchema},
    {"guided_choice", kAnswers, kRefused, kAny, 0, 0, "", kNoSchema},
    {"guided_grammar", kAnswers, kRefused, kAny, 0, 0, "", kNoSchema},
    {"lora", kAnswers, kRefused, kAny, 0, 0, "", kNoAdapters},
    {"lora_request", kAnswers, kRefused, kAny, 0, 0, "", kNoAdapters},
    {"audio", kChat, kRefused, kAny, 0, 0, "", "answers are text"},
    {"prediction", kChat, kRefused, kAny, 0, 0, "", "predicted answers are not used"},
    {"reasoning_effort", kChat, kRefused, kAny, 0, 0, "", "give what the chat template takes in chat_template_kwargs"},
    {"verbosity", kChat, kRefused, kAny, 0, 0, "", "give what the chat template takes in chat_template_kwargs"},
    {"web_search_options", kChat, kRefused, kAny, 0, 0, "", "nothing is looked up"},
    {"chat_template", kTalks, kRefused, kAny, 0, 0, "", "the template is the server's: --chat-template"},
});

// clang-format on

std::string number_text(double value) {
  if (std::abs(value) >= kSeeds) {  // 2^63 - 1 is no double
    return value < 0 ? "-2^63" : "2^63 - 1";
  }
  return fmt::format("{}", value);
}

std::string range(const Field& field) {
  return fmt::format("from {} to {}", number_text(field.low), number_text(field.high));
}

}  // namespace

std::span<const Field> fields() {
  return kFields;
}

const Field* find_field(std::string_view name, Route route) {
  const auto found = std::ranges::find_if(kFields, [&](const Field& field) {
    return field.name == name && (field.routes & route) != 0;
  });
  return found == kFields.end() ? nullptr : &*found;
}

std::string describe_type(const Field& field) {
  switch (field.type) {
    case kBool:
      return "true or false";
    case kInteger:
      return fmt::format("a whole number {}", range(field));
    case kNumber:
      return fmt::format("a number {}", range(field));
    case kText:
      return field.high == kNoLimit
                 ? std::string("a text")
                 : fmt::format("a text of {} to {} bytes", field.low, field.high);
    case kTexts:
      return fmt::format("a text of 1 to {} bytes, or a list of up to {} of them", kMaxTextBytes,
                         field.high);
    case kIds:
      return field.high < kMost ? fmt::format("a list of up to {} token ids", field.high)
             : field.low > 0    ? std::string("a list of at least one token id")
                                : std::string("a list of token ids");
    case kBias:
      return fmt::format(
          "an object of token ids and numbers {0}, or a list of [token id, number] pairs",
          range(field));
    case kPrompt:
      return fmt::format("a text, a list of token ids, or a list of up to {} of these", field.high);
    case kMessages:
      return "a list of messages, at least one";
    case kList:
      return "a list";
    case kObject:
      return "an object";
    case kAny:
      break;
  }
  return "anything";
}

std::string_view path_of(Route route) {
  switch (route) {
    case kChat:
      return "/v1/chat/completions";
    case kCompletions:
      return "/v1/completions";
    case kTokenize:
      return "/tokenize";
    case kDetokenize:
      return "/detokenize";
    case kTemplate:
      return "/apply-template";
  }
  return "";
}

}  // namespace fathom::api::openai
