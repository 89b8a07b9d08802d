// Names and ranges of the sampler chain. Read next: sample/chain.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "sample/sampler.h"

namespace fathom::sample {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class F>
std::string message_of(F&& call, ErrorCode code) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

TEST(ChainTest, BothSeparatorsAndBlanks) {
  EXPECT_THAT(
      parse_chain("penalties;top_k, top_p ;min_p,temperature"),
      ElementsAre(Step::kPenalties, Step::kTopK, Step::kTopP, Step::kMinP, Step::kTemperature));
  EXPECT_THAT(parse_chain("temperature"), ElementsAre(Step::kTemperature));
}

TEST(ChainTest, EveryStepHasItsName) {
  for (const Step step :
       {Step::kPenalties, Step::kTemperature, Step::kTopK, Step::kTopP, Step::kMinP}) {
    EXPECT_THAT(parse_chain(name_of(step)), ElementsAre(step));
  }
}

TEST(ChainTest, SamplersOfOtherProgramsAreRefusedByName) {
  for (const std::string name :
       {"dry", "xtc", "mirostat", "typ_p", "typical", "tfs", "top_n_sigma", "infill", "dynatemp"}) {
    EXPECT_THAT(message_of([&] { parse_chain("top_k;" + name); }, ErrorCode::kUnsupported),
                HasSubstr("'" + name + "'"));
  }
}

TEST(ChainTest, NonsenseIsRefused) {
  for (const char* list : {"", ";", "top_k;", "top_k;;top_p", "TOP_K", "topk"}) {
    message_of([&] { parse_chain(list); }, ErrorCode::kInvalidArgument);
  }
  EXPECT_THAT(message_of([] { parse_chain("top_k;top_p;top_k"); }, ErrorCode::kInvalidArgument),
              HasSubstr("twice"));
}

TEST(ChainTest, RangesAreChecked) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  check(SamplingParams{}, 10);
  const auto refuse = [](const char* field, auto change) {
    SamplingParams params;
    change(params);
    EXPECT_THAT(message_of([&] { check(params, 10); }, ErrorCode::kInvalidArgument),
                HasSubstr(field));
  };
  refuse("temperature", [](auto& p) { p.temperature = -0.1F; });
  refuse("temperature", [&](auto& p) { p.temperature = kNan; });
  refuse("temperature", [&](auto& p) { p.temperature = kInfinity; });
  refuse("top_k", [](auto& p) { p.top_k = -1; });
  refuse("top_p", [](auto& p) { p.top_p = 0.0F; });
  refuse("top_p", [](auto& p) { p.top_p = 1.5F; });
  refuse("top_p", [&](auto& p) { p.top_p = kNan; });
  refuse("min_p", [](auto& p) { p.min_p = -0.5F; });
  refuse("min_p", [](auto& p) { p.min_p = 1.5F; });
  refuse("repeat_penalty", [](auto& p) { p.repeat_penalty = 0.0F; });
  refuse("presence_penalty", [&](auto& p) { p.presence_penalty = kNan; });
  refuse("frequency_penalty", [&](auto& p) { p.frequency_penalty = kInfinity; });
  refuse("penalty_window", [](auto& p) { p.penalty_window = -2; });
  refuse("logprobs", [](auto& p) { p.n_logprobs = 11; });
  refuse("logit_bias", [](auto& p) { p.logit_bias = {{10, 1.0F}}; });
  refuse("logit_bias", [](auto& p) { p.logit_bias = {{-1, 1.0F}}; });
  refuse("logit_bias", [&](auto& p) { p.logit_bias = {{1, kNan}}; });
  refuse("logit_bias", [&](auto& p) { p.logit_bias = {{1, kInfinity}}; });
  refuse("allowed_ids", [](auto& p) { p.allowed_ids = {3, 10}; });
  refuse("bad_words", [](auto& p) { p.bad_words = {{1}, {}}; });
  refuse("bad_words", [](auto& p) { p.bad_words = {{1, -1}}; });
}

TEST(ChainTest, AllowedEdges) {
  SamplingParams params;
  params.temperature = 0;
  params.top_k = 0;
  params.top_p = 1;
  params.min_p = 1;
  params.penalty_window = -1;
  params.n_logprobs = 10;
  params.logit_bias = {{9, -std::numeric_limits<float>::infinity()}};
  check(params, 10);
}

}  // namespace
}  // namespace fathom::sample
