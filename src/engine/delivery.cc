// The border between the step loop and whoever reads the answers.
#include "engine/delivery.h"

#include <fmt/format.h>

#include <exception>

#include "base/log.h"

namespace fathom::engine {

namespace {

// What `call` throws, in words; empty where it throws nothing.
template <class Call>
std::string failure_of(const Call& call) {
  try {
    call();
    return "";
  } catch (const std::exception& error) {
    return fmt::format("the reader of the answer failed: {}", error.what());
  } catch (...) {
    return "the reader of the answer failed";
  }
}

}  // namespace

Delivered deliver_token(Sequence& sequence, const TokenEvent& event) {
  Delivered delivered;
  delivered.failure = failure_of([&] {
    if (sequence.wants_prompt_logprobs()) {
      sequence.gave_prompt_logprobs = true;
      sequence.sink().on_prompt(sequence.prompt_logprobs);
      sequence.prompt_logprobs = {};
    }
    delivered.goes_on = sequence.sink().on_token(event);
  });
  return delivered;
}

void deliver_finish(Sequence& sequence, FinishReason reason, std::string_view message) {
  const std::string failure =
      failure_of([&] { sequence.sink().on_finish(reason, sequence.usage, message); });
  if (!failure.empty()) {
    warn(fmt::format("request {} at its end: {}", sequence.id(), failure));
  }
}

}  // namespace fathom::engine
