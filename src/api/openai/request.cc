// Fields to values, and what they may not ask for together.
// Called by api/openai/handler. Read next: api/openai/fields.cc, api/openai/prompts.cc.
#include "api/openai/request.h"

#include <fmt/format.h>

#include <limits>

#include "api/openai/errors.h"
#include "base/error.h"

namespace fathom::api::openai {

namespace {

constexpr int64_t kCompletionTokens = 16;  // as OpenAI's completions

[[noreturn]] void refuse_together(std::string_view param, std::string message) {
  throw RequestError(Cause::kBadRequest, std::move(message), std::string(param));
}

float real(const Body& body, std::string_view name, std::optional<float> of_model, float other) {
  return static_cast<float>(body.number(name, static_cast<double>(of_model.value_or(other))));
}

int whole(const Body& body, std::string_view name, int64_t other) {
  return static_cast<int>(body.integer(name, other));
}

int64_t read_max_tokens(const Body& body, Route route) {
  if (route == kCompletions) {
    return body.integer("max_tokens", kCompletionTokens);
  }
  const int64_t older = body.integer("max_tokens", -1);
  const int64_t newer = body.integer("max_completion_tokens", older);
  if (older != -1 && older != newer) {
    refuse_together("max_completion_tokens",
                    fmt::format("max_tokens is {} and max_completion_tokens is {}; give one of "
                                "them, or the same",
                                older, newer));
  }
  return newer;
}

// -1: none.
int read_logprobs(const Body& body, Route route) {
  if (route == kCompletions) {
    return whole(body, "logprobs", -1);
  }
  if (body.flag("logprobs", false)) {
    return whole(body, "top_logprobs", 0);
  }
  if (body.integer("top_logprobs", 0) > 0) {
    refuse_together("top_logprobs", "top_logprobs needs \"logprobs\": true");
  }
  return -1;
}

sample::SamplingParams read_sampling(const Body& body, Route route, const ModelSampling& model) {
  sample::SamplingParams params;
  params.temperature = real(body, "temperature", model.temperature, 1.0F);
  params.top_p = real(body, "top_p", model.top_p, 1.0F);
  if (params.top_p == 0.0F) {
    params.top_p = std::numeric_limits<float>::min();  // the likeliest alone reaches it
  }
  params.top_k = std::max(0, whole(body, "top_k", model.top_k.value_or(0)));
  params.min_p = real(body, "min_p", model.min_p, 0.0F);
  params.repeat_penalty = real(body, "repetition_penalty", model.repeat_penalty, 1.0F);
  params.presence_penalty = real(body, "presence_penalty", std::nullopt, 0.0F);
  params.frequency_penalty = real(body, "frequency_penalty", std::nullopt, 0.0F);
  params.penalty_window = -1;
  params.penalize_answer_only = true;
  params.logit_bias = body.bias("logit_bias");
  params.allowed_ids = body.ids("allowed_token_ids");
  params.n_logprobs = read_logprobs(body, route);
  params.chain_logprobs = body.flag("post_sampling_logprobs", false);
  return params;
}

void check_together(const AnswerRequest& request, const Body& body) {
  if (!request.is_stream && body.has("stream_options")) {
    refuse_together("stream_options", "stream_options needs \"stream\": true");
  }
  if (request.is_stream && request.n_prompt_logprobs >= 0) {
    refuse_together("prompt_logprobs", "prompt_logprobs cannot be streamed; leave stream away");
  }
  if (request.sampling.chain_logprobs && request.sampling.n_logprobs < 0) {
    refuse_together("post_sampling_logprobs", "post_sampling_logprobs needs logprobs");
  }
  if (request.max_tokens == 0 && !request.echo && request.n_prompt_logprobs < 0) {
    refuse_together("max_tokens",
                    "max_tokens is 0, which leaves nothing to answer without echo or "
                    "prompt_logprobs; expected 1 and more");
  }
  if (request.context_shift && request.max_tokens < 0) {
    refuse_together("context_shift",
                    "context_shift needs max_tokens: without it nothing would end the answer");
  }
  if (body.has("n_keep") && !request.context_shift) {
    refuse_together("n_keep", "n_keep needs \"context_shift\": true");
  }
  if (request.max_tokens >= 0 && request.min_tokens > request.max_tokens) {
    refuse_together("min_tokens", fmt::format("min_tokens {} is above max_tokens {}",
                                              request.min_tokens, request.max_tokens));
  }
}

}  // namespace

codec::Conversation read_conversation(std::string_view text, const Body& body) {
  if (!body.has("messages")) {
    refuse_together("messages", "messages is missing: a chat needs at least one message");
  }
  if (body.has("tools") && !body.has("tool_choice")) {
    throw RequestError(Cause::kNotOffered,
                       fmt::format("tools is offered with tool_choice \"none\" only: {}",
                                   find_field("tool_choice", kChat)->says),
                       "tools");
  }
  try {
    return codec::parse_conversation(text, "the request");
  } catch (const Error& error) {
    throw RequestError(cause_of(error), error.what(),
                       body.has("chat_template_kwargs") ? "" : "messages");
  }
}

AnswerRequest parse_answer_request(std::string_view text, Route route, const Defaults& defaults) {
  const Body body = Body::parse(text, route);
  AnswerRequest request;
  request.is_chat = route == kChat;
  request.model = body.text("model", "");
  if (request.is_chat) {
    request.conversation = read_conversation(text, body);
  } else {
    request.prompts = body.prompts("prompt");
    if (request.prompts.empty()) {
      refuse_together("prompt", "prompt is missing: a completion needs one");
    }
    request.add_special = body.flag("add_special_tokens", true);
    request.echo = body.flag("echo", false);
  }
  request.truncate_to = body.integer("truncate_prompt_tokens", -1);
  request.cache_salt = body.text("cache_salt", "");
  request.max_tokens = read_max_tokens(body, route);
  request.min_tokens = body.integer("min_tokens", 0);
  request.stops = body.texts("stop");
  request.stop_ids = body.ids("stop_token_ids");
  request.include_stop = body.flag("include_stop_str_in_output", false);
  request.ignore_eos = body.flag("ignore_eos", false);
  request.context_shift = body.flag("context_shift", false);
  request.n_keep = body.integer("n_keep", 0);
  request.n_choices = body.integer("n", 1);
  if (body.has("seed")) {
    request.seed = body.integer("seed", 0);
  }
  request.sampling = read_sampling(body, route, defaults.sampling);
  request.bad_words = body.texts("bad_words");
  request.n_prompt_logprobs = whole(body, "prompt_logprobs", -1);
  request.is_stream = body.flag("stream", false);
  request.include_usage =
      body.flag_in("stream_options", "include_usage", {"include_usage", "include_obfuscation"});
  request.return_ids = body.flag("return_token_ids", false);
  request.priority = body.integer("priority", 0);
  request.deadline_s = body.number("deadline_seconds", 0);
  if (request.deadline_s == 0) {
    request.deadline_s = defaults.deadline_s;
  }
  request.queue_timeout_s = body.number("queue_timeout_seconds", 0);
  if (request.queue_timeout_s == 0) {
    request.queue_timeout_s = defaults.queue_timeout_s;
  }
  request.ignored = body.ignored();
  check_together(request, body);
  return request;
}

}  // namespace fathom::api::openai
