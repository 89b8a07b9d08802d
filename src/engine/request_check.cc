// Each rule with its message. Read next: sample/chain.cc (the rules of sampling).
#include "engine/request_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "base/error.h"
#include "kv/layout.h"

namespace fathom::engine {

namespace {

constexpr int kMostPriority = 1'000'000;

[[noreturn]] void refuse(std::string message) {
  fail(ErrorCode::kInvalidArgument, std::move(message));
}

void check_ids(const std::vector<int32_t>& ids, std::string_view name, int64_t n_vocab) {
  for (const int32_t id : ids) {
    if (id < 0 || id >= n_vocab) {
      refuse(fmt::format("{} {} is not in the vocabulary (0 to {})", name, id, n_vocab - 1));
    }
  }
}

void check_seconds(std::string_view name, double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) {
    refuse(fmt::format("{} is {}; allowed: 0 (none) and more seconds", name, seconds));
  }
}

void check_fields(const Request& request, const RequestLimits& limits) {
  if (request.max_tokens < -1) {
    refuse(fmt::format("max_tokens is {}; allowed: 0 and more, or -1 for as many as fit",
                       request.max_tokens));
  }
  if (request.min_tokens < 0) {
    refuse(fmt::format("min_tokens is {}; allowed: 0 and more", request.min_tokens));
  }
  if (request.max_tokens >= 0 && request.min_tokens > request.max_tokens) {
    refuse(fmt::format("min_tokens is {}, more than max_tokens, which is {}", request.min_tokens,
                       request.max_tokens));
  }
  if (request.context_shift && request.max_tokens < 0) {
    refuse("context_shift needs max_tokens: without it nothing would end the answer");
  }
  if (request.n_keep < 0 || request.n_keep >= limits.context) {
    refuse(fmt::format("n_keep is {}; allowed: 0 to {}, less than the context", request.n_keep,
                       limits.context - 1));
  }
  if (std::abs(int64_t{request.priority}) > kMostPriority) {
    refuse(fmt::format("priority is {}; allowed: {} to {}", request.priority, -kMostPriority,
                       kMostPriority));
  }
  check_seconds("deadline_s", request.deadline_s);
  check_seconds("queue_timeout_s", request.queue_timeout_s);
  if (request.n_prompt_logprobs < -1 || request.n_prompt_logprobs > limits.n_vocab) {
    refuse(fmt::format("n_prompt_logprobs is {}; allowed: -1 (none) to {}",
                       request.n_prompt_logprobs, limits.n_vocab));
  }
}

}  // namespace

int64_t positions_needed(const Request& request, int64_t context) {
  const auto prompt = static_cast<int64_t>(request.prompt.size());
  const int64_t room = context - prompt;
  return prompt + (request.max_tokens < 0 ? room : std::min(room, request.max_tokens));
}

void check_request(const Request& request, const RequestLimits& limits) {
  if (request.prompt.empty()) {
    refuse("the prompt has no tokens; give at least one");
  }
  check_ids(request.prompt, "token id", limits.n_vocab);
  check_ids(request.end_tokens, "end token", limits.n_vocab);
  check_fields(request, limits);
  sample::check(request.sampling, limits.n_vocab);
  const auto n_prompt = static_cast<int64_t>(request.prompt.size());
  if (n_prompt > limits.context) {
    fail(ErrorCode::kResourceExhausted,
         fmt::format("the prompt has {} tokens, the context holds {}; shorten it{}", n_prompt,
                     limits.context,
                     limits.allows_more_context ? " or raise -c"
                                                : ": the model has learned no more positions"));
  }
  const int64_t positions = positions_needed(request, limits.context);
  const int64_t pages = kv::pages_for(positions);
  if (pages > limits.n_pages) {
    fail(ErrorCode::kResourceExhausted,
         fmt::format("a prompt of {} tokens and an answer of up to {} need {} KV pages of {} "
                     "positions, there are {} in all; shorten it, lower max_tokens, or give the "
                     "cache more memory",
                     n_prompt, positions - n_prompt, pages, kPageTokens, limits.n_pages));
  }
}

}  // namespace fathom::engine
