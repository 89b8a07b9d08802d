// Requests through a session: text, stops, cancellation, errors. Read next: api/generator.cc.
#include "api/generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "base/error.h"
#include "support/error_check.h"
#include "support/temp_folder.h"
#include "support/tiny_chat_model.h"

namespace fathom::api {
namespace {

class GeneratorTest : public testing::Test {
 protected:
  void SetUp() override {
    SessionOptions options;
    options.model_path = test::tiny_chat_gguf().write(folder_.path_of("m.gguf"));
    options.context = 256;
    options.n_threads = 1;
    session_ = Session::open(options);
  }

  // Greedy; the answer is made of the byte 'A'.
  static GenerateOptions always_a(int64_t max_tokens) {
    GenerateOptions options;
    options.prompt = {1, 2, 3};
    options.sampling.temperature = 0;
    options.sampling.logit_bias = {{'A', 1000.0F}};
    options.max_tokens = max_tokens;
    return options;
  }

  test::TempFolder folder_;
  std::unique_ptr<Session> session_;
};

TEST_F(GeneratorTest, PiecesTogetherAreTheText) {
  GenerateOptions options = always_a(5);
  std::string streamed;
  int n_steps = 0;
  int64_t n_rows = 0;
  options.on_text = [&](std::string_view piece) { streamed += piece; };
  options.on_step = [&](int64_t rows) {
    ++n_steps;
    n_rows = rows;
  };
  const GenerateResult result = generate(*session_, options);
  EXPECT_EQ(result.text, "AAAAA");
  EXPECT_EQ(streamed, result.text);
  EXPECT_EQ(result.reason, engine::FinishReason::kLength);
  EXPECT_EQ(result.usage.prompt_tokens, 3);
  EXPECT_EQ(result.usage.generated_tokens, 5);
  EXPECT_EQ(n_steps, 5);  // the prompt's step gives the first token
  EXPECT_EQ(n_rows, 3 + 4);
  EXPECT_GT(result.ttft_s, 0);
  EXPECT_TRUE(result.logprobs.empty());
}

TEST_F(GeneratorTest, StopStringsEndTheStepThatCompletesThem) {
  GenerateOptions options = always_a(50);
  options.stops = {"AAAA"};
  std::string streamed;
  options.on_text = [&](std::string_view piece) { streamed += piece; };
  const GenerateResult result = generate(*session_, options);
  EXPECT_EQ(result.text, "");
  EXPECT_EQ(streamed, "");
  EXPECT_EQ(result.tokens.size(), 4U);
  EXPECT_EQ(result.reason, engine::FinishReason::kStop);
}

TEST_F(GeneratorTest, CancellingEndsWithinAStep) {
  GenerateOptions options = always_a(100);
  int n_steps = 0;
  options.on_step = [&](int64_t) { ++n_steps; };
  options.cancelled = [&] { return n_steps == 3; };
  const GenerateResult result = generate(*session_, options);
  EXPECT_EQ(result.reason, engine::FinishReason::kCancelled);
  EXPECT_EQ(result.text, "AAA");
  EXPECT_EQ(session_->pages().n_free(), session_->pages().n_pages());
  EXPECT_EQ(generate(*session_, always_a(2)).text, "AA");  // the next one is unharmed
}

TEST_F(GeneratorTest, WhatTheReaderThrowsArrivesAndHarmsNobody) {
  GenerateOptions options = always_a(100);
  options.on_text = [](std::string_view) { throw std::runtime_error("reader"); };
  EXPECT_THROW(generate(*session_, options), std::runtime_error);
  EXPECT_EQ(session_->pages().n_free(), session_->pages().n_pages());
  EXPECT_EQ(generate(*session_, always_a(2)).text, "AA");
}

TEST_F(GeneratorTest, EndTokensEndTheAnswer) {
  GenerateOptions options = always_a(9);
  options.sampling.logit_bias = {{test::kTinyEnd, 1000.0F}};
  GenerateResult result = generate(*session_, options);
  EXPECT_EQ(result.tokens, (std::vector<int32_t>{test::kTinyEnd}));
  EXPECT_EQ(result.reason, engine::FinishReason::kStop);
  options.ignore_eos = true;
  EXPECT_EQ(generate(*session_, options).tokens.size(), 9U);
}

TEST_F(GeneratorTest, LogprobsComeWhenAsked) {
  GenerateOptions options = always_a(3);
  options.sampling.n_logprobs = 4;
  const GenerateResult result = generate(*session_, options);
  ASSERT_EQ(result.logprobs.size(), 3U);
  EXPECT_EQ(result.logprobs[0].id, 'A');
  EXPECT_EQ(result.logprobs[0].best.size(), 4U);
  EXPECT_LT(result.logprobs[0].logprob, 0.0F);
}

TEST_F(GeneratorTest, BadRequestsAreRefused) {
  GenerateOptions options = always_a(3);
  options.prompt.clear();
  test::expect_error([&] { generate(*session_, options); }, ErrorCode::kInvalidArgument, {});
  options.prompt = {-1};
  test::expect_error([&] { generate(*session_, options); }, ErrorCode::kInvalidArgument, {"-1"});
  options.prompt.assign(300, 1);
  test::expect_error([&] { generate(*session_, options); }, ErrorCode::kResourceExhausted,
                     {"300", "256"});
  options = always_a(3);
  options.sampling.top_p = 2.0F;
  test::expect_error([&] { generate(*session_, options); }, ErrorCode::kInvalidArgument, {"top_p"});
  options = always_a(3);
  options.stops = {""};
  test::expect_error([&] { generate(*session_, options); }, ErrorCode::kInvalidArgument, {});
}

}  // namespace
}  // namespace fathom::api
