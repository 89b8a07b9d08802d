// Every rule of a request, with its message.
#include "engine/request_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "support/error_check.h"

namespace fathom::engine {
namespace {

using fathom::test::expect_error;

constexpr RequestLimits kLimits = {
    .n_vocab = 100, .context = 256, .n_pages = 3, .allows_more_context = true};

Request good() {
  Request request;
  request.prompt = {1, 2, 3};
  request.max_tokens = 10;
  return request;
}

void expect_refused(const std::function<void(Request&)>& spoil,
                    std::initializer_list<std::string_view> parts) {
  Request request = good();
  spoil(request);
  expect_error([&] { check_request(request, kLimits); }, ErrorCode::kInvalidArgument, parts);
}

TEST(RequestCheck, FieldsOutOfRangeAreNamed) {
  check_request(good(), kLimits);
  expect_refused([](Request& r) { r.prompt = {}; }, {"no tokens"});
  expect_refused([](Request& r) { r.prompt[1] = 100; }, {"token id 100", "0 to 99"});
  expect_refused([](Request& r) { r.prompt[1] = -1; }, {"token id -1"});
  expect_refused([](Request& r) { r.end_tokens = {100}; }, {"end token 100", "0 to 99"});
  expect_refused([](Request& r) { r.max_tokens = -2; }, {"max_tokens", "-2"});
  expect_refused([](Request& r) { r.min_tokens = -1; }, {"min_tokens", "-1"});
  expect_refused([](Request& r) { r.min_tokens = 11; }, {"min_tokens", "11", "max_tokens", "10"});
  expect_refused([](Request& r) { r.n_keep = -1; }, {"n_keep", "-1", "0 to 255"});
  expect_refused([](Request& r) { r.n_keep = 256; }, {"n_keep", "256", "0 to 255"});
  expect_refused(
      [](Request& r) {
        r.context_shift = true;
        r.max_tokens = -1;
      },
      {"context_shift", "max_tokens"});
  expect_refused([](Request& r) { r.priority = 1'000'001; }, {"priority", "1000001"});
  expect_refused([](Request& r) { r.priority = std::numeric_limits<int>::min(); }, {"priority"});
  expect_refused([](Request& r) { r.deadline_s = -1; }, {"deadline_s", "-1"});
  expect_refused([](Request& r) { r.queue_timeout_s = std::nan(""); }, {"queue_timeout_s", "nan"});
  expect_refused([](Request& r) { r.n_prompt_logprobs = -2; }, {"n_prompt_logprobs", "-2"});
  expect_refused([](Request& r) { r.n_prompt_logprobs = 101; }, {"n_prompt_logprobs", "100"});
  expect_refused([](Request& r) { r.sampling.temperature = -1; }, {"temperature"});
}

TEST(RequestCheck, AnOverlongPromptIsRefusedWithBothNumbers) {
  Request request = good();
  request.prompt.assign(257, 1);
  expect_error([&] { check_request(request, kLimits); }, ErrorCode::kResourceExhausted,
               {"257 tokens", "256", "raise -c"});
  RequestLimits learned = kLimits;
  learned.allows_more_context = false;
  expect_error([&] { check_request(request, learned); }, ErrorCode::kResourceExhausted,
               {"257 tokens", "256", "no more positions"});
}

TEST(RequestCheck, MorePagesThanThereAreIsRefusedWithBothNumbers) {
  Request request = good();
  request.prompt.assign(100, 1);
  request.max_tokens = 92;  // 192 positions, three pages
  check_request(request, kLimits);
  request.max_tokens = 93;
  expect_error([&] { check_request(request, kLimits); }, ErrorCode::kResourceExhausted,
               {"100 tokens", "93", "4 KV pages", "3 in all"});
}

TEST(RequestCheck, PositionsEndWithTheContext) {
  Request request = good();
  EXPECT_EQ(positions_needed(request, 256), 13);
  request.max_tokens = 1000;
  EXPECT_EQ(positions_needed(request, 256), 256);
  request.max_tokens = -1;
  EXPECT_EQ(positions_needed(request, 256), 256);
}

}  // namespace
}  // namespace fathom::engine
