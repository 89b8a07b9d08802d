// C47 (c): longrope's list follows from what a request plans to reach, never from the context that
// happens to be there. The model was trained for 64 positions; its short factors are 1, its long 4.
// Read next: parity_case.h, model/rope_tables.h.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "api/generator.h"
#include "api/score.h"
#include "api/session.h"
#include "parity/parity_case.h"

namespace fathom::api {
namespace {

using test::ParityPrompt;

constexpr int64_t kTrained = 64;

std::unique_ptr<Session> open(int64_t context) {
  SessionOptions options;
  options.model_path = (test::parity_folder() / "models" / "llama-longrope-64").string();
  options.context = context;
  options.n_threads = 1;
  options.compute_f32 = true;
  options.max_logits = context;
  return Session::open(options);
}

ParityPrompt prompt_named(const std::string& name) {
  const auto folder = test::parity_folder() / "expected" / "llama-longrope-64";
  for (ParityPrompt& prompt : test::prompts_of({"llama-longrope-64", "", folder.string()})) {
    if (prompt.name == name) {
      return std::move(prompt);
    }
  }
  ADD_FAILURE() << name;
  return {};
}

// The log-probabilities of all tokens at every step of an answer.
std::vector<float> logprobs(int64_t context, const ParityPrompt& prompt, int64_t max_tokens) {
  const auto session = open(context);
  GenerateOptions options;
  options.prompt = prompt.ids;
  options.sampling.temperature = 0;
  options.sampling.n_logprobs = static_cast<int>(session->load_plan().config.n_vocab);
  options.max_tokens = max_tokens;
  options.ignore_eos = true;
  std::vector<float> values;
  for (const TokenResult& token : generate(*session, options).logprobs) {
    std::vector<float> row(token.best.size());
    for (const sample::TokenLogprob& entry : token.best) {
      row[static_cast<size_t>(entry.id)] = entry.logprob;
    }
    values.insert(values.end(), row.begin(), row.end());
  }
  return values;
}

TEST(Longrope, TheContextDoesNotChooseTheFactors) {
  const ParityPrompt prompt = prompt_named("short");
  ASSERT_EQ(prompt.ids.size(), 10U);
  const auto small = logprobs(32, prompt, 20);
  ASSERT_EQ(small.size(), 20U * 64U);
  EXPECT_EQ(small, logprobs(256, prompt, 20));  // to the bit
  EXPECT_EQ(small, logprobs(kTrained, prompt, 20));
  // The plan does: an answer that may pass the trained length takes the other list from its start.
  const auto planned = logprobs(256, prompt, kTrained - 10);
  const auto longer = logprobs(256, prompt, kTrained - 10 + 1);
  EXPECT_TRUE(std::equal(small.begin(), small.end(), planned.begin()));
  float largest = 0;
  for (size_t i = 0; i < 64; ++i) {
    largest = std::max(largest, std::abs(longer[i] - planned[i]));
  }
  EXPECT_GT(largest, 0.01F);
}

TEST(Longrope, LongPromptsTakeTheLongFactors) {
  const ParityPrompt prompt = prompt_named("long");
  ASSERT_EQ(prompt.ids.size(), 100U);
  const auto session = open(256);
  const auto logits_of = [&](size_t n_ids) {
    std::vector<float> values;
    score(*session, std::span(prompt.ids).first(n_ids), [&](int64_t, const ops::Rows& rows) {
      for (int64_t row = 0; row < rows.n_rows; ++row) {
        values.insert(values.end(), rows.row(row), rows.row(row) + rows.n_cols);
      }
    });
    return values;
  };
  const auto largest_difference = [&](const std::vector<float>& found) {
    float largest = 0;
    for (size_t i = 0; i < found.size(); ++i) {
      largest = std::max(largest, std::abs(found[i] - prompt.logits[i]));
    }
    return largest;
  };
  EXPECT_LT(largest_difference(logits_of(100)), 1e-3F) << "transformers' logits";
  EXPECT_LT(largest_difference(logits_of(kTrained + 1)), 1e-3F) << "the long list as well";
  EXPECT_GT(largest_difference(logits_of(kTrained)), 0.01F) << "the short list";
}

}  // namespace
}  // namespace fathom::api
