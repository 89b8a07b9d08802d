// What a sink throws ends its own request; prompt log probabilities come once, before the first
// token; end tokens wait for min_tokens.
#include "engine/delivery.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "src/engine/toy_model.h"

namespace fathom::engine {
namespace {

using test::toy_answer;
using test::toy_request;
using test::ToyBench;
using test::ToySink;

class ThrowingSink final : public ToySink {
 public:
  bool on_token(const TokenEvent& event) override {
    ToySink::on_token(event);
    if (std::ssize(ids) == throw_at) {
      throw std::runtime_error("the pipe is broken");
    }
    return true;
  }

  void on_finish(FinishReason why, const Usage& use, std::string_view text) override {
    ToySink::on_finish(why, use, text);
    if (throws_at_end) {
      throw 1;  // not even an exception
    }
  }

  int64_t throw_at = -1;
  bool throws_at_end = false;
};

TEST(Delivery, WhatASinkThrowsEndsItsRequestOnly) {
  ToyBench bench({.max_sequences = 3});
  ThrowingSink broken;
  broken.throw_at = 3;
  ThrowingSink ends_badly;
  ends_badly.throws_at_end = true;
  ToySink good;
  const Request request = toy_request(70, 1, 10);
  bench.engine.submit(request, broken);
  bench.engine.submit(request, ends_badly);
  bench.engine.submit(request, good);
  EXPECT_TRUE(bench.run());
  EXPECT_EQ(broken.reason, FinishReason::kError);
  EXPECT_NE(broken.message.find("the pipe is broken"), std::string::npos) << broken.message;
  EXPECT_EQ(broken.ids, toy_answer(request, 3));
  EXPECT_EQ(broken.n_finished, 1);
  EXPECT_EQ(ends_badly.n_finished, 1);
  EXPECT_EQ(ends_badly.ids, toy_answer(request, 10));
  EXPECT_EQ(good.ids, toy_answer(request, 10));
  EXPECT_EQ(bench.pages.n_free(), bench.pages.n_pages());
}

// By hand: the softmax of the toy's logits after each token of the prompt.
std::vector<float> prompt_logprobs(const Request& request) {
  std::vector<float> logprobs;
  uint32_t hash = test::kFirstHash;
  std::vector<float> logits(test::kToyVocab);
  for (size_t i = 0; i + 1 < request.prompt.size(); ++i) {
    hash = test::next_hash(hash, request.prompt[i]);
    test::fill_logits(hash, logits);
    double total = 0;
    for (const float logit : logits) {
      total += std::exp(static_cast<double>(logit));
    }
    const float own = logits[static_cast<size_t>(request.prompt[i + 1])];
    logprobs.push_back(static_cast<float>(static_cast<double>(own) - std::log(total)));
  }
  return logprobs;
}

TEST(Delivery, PromptLogprobsComeOnceWhateverHappens) {
  Request request = toy_request(150, 1, 60);
  request.n_prompt_logprobs = 2;
  const std::vector<float> expected = prompt_logprobs(request);
  for (const int64_t max_logits : {0, 7, 200}) {
    for (const int64_t n_pages : {4, 16}) {  // four: the newer one is pre-empted
      ToyBench bench({.max_sequences = 3, .prefix_cache = true, .max_logits = max_logits}, n_pages);
      std::vector<ToySink> sinks(2);
      for (ToySink& sink : sinks) {
        bench.engine.submit(request, sink);
        EXPECT_TRUE(n_pages > 4 || bench.engine.step());
      }
      ASSERT_TRUE(bench.run());
      for (const ToySink& sink : sinks) {
        EXPECT_EQ(sink.n_prompts, 1);
        ASSERT_EQ(sink.prompt.size(), expected.size());
        for (size_t i = 0; i < expected.size(); ++i) {
          EXPECT_EQ(sink.prompt[i].id, request.prompt[i + 1]);
          EXPECT_NEAR(sink.prompt[i].logprob, expected[i], 1e-5);
          EXPECT_EQ(sink.prompt[i].best.size(), 2U);
        }
        EXPECT_EQ(sink.ids, toy_answer(request, 60));
        EXPECT_EQ(sink.usage.cached_tokens, 0);  // every position is computed
        EXPECT_EQ(sink.usage.cache_end, kv::CacheEnd::kOff);
      }
    }
  }
}

TEST(Delivery, EveryChoiceGetsThePromptsLogprobs) {
  ToyBench bench({.max_sequences = 3});
  Request request = toy_request(20, 1, 3);
  request.n_prompt_logprobs = 0;
  std::vector<ToySink> sinks(3);
  std::vector<TextSink*> pointers = {&sinks[0], &sinks[1], &sinks[2]};
  bench.engine.submit_choices(request, pointers);
  EXPECT_TRUE(bench.run());
  for (const ToySink& sink : sinks) {
    EXPECT_EQ(sink.n_prompts, 1);
    EXPECT_EQ(sink.prompt.size(), 19U);
  }
}

TEST(Delivery, APromptOfOneTokenHasNoLogprobs) {
  ToyBench bench({});
  Request request = toy_request(1, 1, 3);
  request.n_prompt_logprobs = 1;
  ToySink sink;
  bench.engine.submit(request, sink);
  EXPECT_TRUE(bench.run());
  EXPECT_EQ(sink.n_prompts, 1);
  EXPECT_TRUE(sink.prompt.empty());
}

TEST(Delivery, EndTokensWaitForMinTokens) {
  Request request = toy_request(9, 1, 30);
  request.end_tokens = {toy_answer(request, 1)[0]};
  ToyBench bench({});
  ToySink at_once;
  bench.engine.submit(request, at_once);
  request.min_tokens = 12;
  ToySink later;
  bench.engine.submit(request, later);
  EXPECT_TRUE(bench.run());
  EXPECT_EQ(at_once.ids.size(), 1U);
  ASSERT_GE(later.ids.size(), 12U);
  for (size_t i = 0; i < 12; ++i) {
    EXPECT_NE(later.ids[i], request.end_tokens[0]);
  }
}

}  // namespace
}  // namespace fathom::engine
