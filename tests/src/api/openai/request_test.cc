// Fields to values: defaults, names that mean the same, what cannot go together.
// Read next: api/openai/request.h.
#include "api/openai/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "api/openai/errors.h"

namespace fathom::api::openai {
namespace {

constexpr const char* kTalk = R"("messages":[{"role":"user","content":"hi"}])";

AnswerRequest chat(const std::string& more, const Defaults& defaults = {}) {
  return parse_answer_request("{" + std::string(kTalk) + (more.empty() ? "" : "," + more) + "}",
                              kChat, defaults);
}

AnswerRequest completion(const std::string& more) {
  return parse_answer_request("{\"prompt\":\"hi\"" + (more.empty() ? "" : "," + more) + "}",
                              kCompletions, {});
}

std::string param_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const RequestError& error) {
    return error.param();
  }
  return "(taken)";
}

TEST(RequestTest, SilenceMeansOpenAisDefaults) {
  const AnswerRequest request = chat("");
  EXPECT_EQ(request.max_tokens, -1);
  EXPECT_EQ(request.n_choices, 1);
  EXPECT_FALSE(request.seed.has_value());
  EXPECT_EQ(request.sampling.temperature, 1.0F);
  EXPECT_EQ(request.sampling.top_p, 1.0F);
  EXPECT_EQ(request.sampling.top_k, 0);
  EXPECT_EQ(request.sampling.min_p, 0.0F);
  EXPECT_EQ(request.sampling.repeat_penalty, 1.0F);
  EXPECT_EQ(request.sampling.n_logprobs, -1);
  EXPECT_EQ(request.sampling.penalty_window, -1);
  EXPECT_TRUE(request.sampling.penalize_answer_only);
  EXPECT_TRUE(request.conversation->add_generation_prompt);
  EXPECT_EQ(completion("").max_tokens, 16);
  EXPECT_TRUE(completion("").add_special);
}

TEST(RequestTest, NullIsSilence) {  // C29
  const AnswerRequest request =
      chat(R"("n":null,"seed":null,"temperature":null,"max_tokens":null,"stop":null,"tools":null,)"
           R"("stream":null,"logit_bias":null,"stream_options":null,"lora":null,"user":null)");
  EXPECT_EQ(request.n_choices, 1);
  EXPECT_FALSE(request.seed.has_value());
  EXPECT_TRUE(request.stops.empty());
}

TEST(RequestTest, TheModelsOwnSamplingComesBeforeOpenAis) {
  Defaults defaults;
  defaults.sampling.temperature = 0.6F;
  defaults.sampling.top_k = 20;
  EXPECT_EQ(chat("", defaults).sampling.temperature, 0.6F);
  EXPECT_EQ(chat("", defaults).sampling.top_k, 20);
  EXPECT_EQ(chat("\"temperature\":0,\"top_k\":-1", defaults).sampling.temperature, 0.0F);
  EXPECT_EQ(chat("\"temperature\":0,\"top_k\":-1", defaults).sampling.top_k, 0);
}

TEST(RequestTest, ServerLimitsHoldWhereARequestIsSilent) {
  Defaults defaults;
  defaults.deadline_s = 60;
  defaults.queue_timeout_s = 5;
  EXPECT_EQ(chat("", defaults).deadline_s, 60);
  EXPECT_EQ(chat("\"deadline_seconds\":2,\"queue_timeout_seconds\":0", defaults).deadline_s, 2);
  EXPECT_EQ(chat("\"queue_timeout_seconds\":0", defaults).queue_timeout_s, 5);
}

TEST(RequestTest, NamesThatMeanTheSameMustAgree) {
  EXPECT_EQ(chat("\"max_completion_tokens\":3").max_tokens, 3);
  EXPECT_EQ(chat("\"max_tokens\":3").max_tokens, 3);
  EXPECT_EQ(chat("\"max_tokens\":3,\"max_completion_tokens\":3").max_tokens, 3);
  EXPECT_EQ(param_of([] { chat("\"max_tokens\":3,\"max_completion_tokens\":4"); }),
            "max_completion_tokens");
}

TEST(RequestTest, LogprobsAreSpelledByRoute) {
  EXPECT_EQ(chat("\"logprobs\":true").sampling.n_logprobs, 0);
  EXPECT_EQ(chat("\"logprobs\":true,\"top_logprobs\":5").sampling.n_logprobs, 5);
  EXPECT_EQ(chat("\"logprobs\":false,\"top_logprobs\":0").sampling.n_logprobs, -1);
  EXPECT_EQ(completion("\"logprobs\":5").sampling.n_logprobs, 5);
  EXPECT_EQ(completion("\"logprobs\":0").sampling.n_logprobs, 0);
  EXPECT_TRUE(completion("\"logprobs\":0,\"post_sampling_logprobs\":true").sampling.chain_logprobs);
  EXPECT_EQ(param_of([] { chat("\"top_logprobs\":5"); }), "top_logprobs");
  EXPECT_EQ(param_of([] { chat("\"post_sampling_logprobs\":true"); }), "post_sampling_logprobs");
}

TEST(RequestTest, WhatCannotGoTogetherIsRefused) {
  EXPECT_EQ(param_of([] { chat("\"stream_options\":{}"); }), "stream_options");
  EXPECT_EQ(param_of([] { chat("\"stream\":true,\"prompt_logprobs\":1"); }), "prompt_logprobs");
  EXPECT_EQ(param_of([] { completion("\"max_tokens\":0"); }), "max_tokens");
  EXPECT_EQ(completion("\"max_tokens\":0,\"echo\":true").max_tokens, 0);
  EXPECT_EQ(param_of([] { chat("\"max_tokens\":3,\"min_tokens\":4"); }), "min_tokens");
  EXPECT_EQ(param_of([] { chat("\"context_shift\":true"); }), "context_shift");
  EXPECT_EQ(param_of([] { chat("\"max_tokens\":3,\"n_keep\":4"); }), "n_keep");
  EXPECT_EQ(completion("\"context_shift\":true,\"n_keep\":4").n_keep, 4);
  EXPECT_EQ(param_of([] { parse_answer_request("{}", kChat, {}); }), "messages");
  EXPECT_EQ(param_of([] { parse_answer_request("{}", kCompletions, {}); }), "prompt");
  EXPECT_EQ(param_of([] { parse_answer_request("{\"prompt\":null}", kCompletions, {}); }),
            "prompt");
  EXPECT_EQ(
      param_of([] { chat("\"add_generation_prompt\":true,\"continue_final_message\":true"); }),
      "messages");
}

TEST(RequestTest, ToolsNeedTheChoiceOfNone) {
  EXPECT_EQ(param_of([] { chat("\"tools\":[{\"type\":\"function\"}]"); }), "tools");
  const AnswerRequest request =
      chat("\"tools\":[{\"type\":\"function\"}],\"tool_choice\":\"none\"");
  EXPECT_TRUE(request.conversation->has_tools());
}

TEST(RequestTest, ATopPOfZeroKeepsTheLikeliest) {
  EXPECT_GT(chat("\"top_p\":0").sampling.top_p, 0.0F);
  EXPECT_LT(chat("\"top_p\":0").sampling.top_p, 1e-30F);
}

}  // namespace
}  // namespace fathom::api::openai
