// Tokens and endings on their way to a sink: what a sink throws stops here.
// Called by engine/engine. Read next: engine/request.h (TextSink). Thread rule: the step thread.
#pragma once

#include <string>
#include <string_view>

#include "engine/request.h"
#include "engine/sequence.h"

namespace fathom::engine {

struct Delivered {
  bool goes_on = false;  // what the sink answered
  std::string failure;   // what it threw, as a message of the request; empty: nothing
};

// Hands on the log probabilities of the prompt where they are due, then the token.
Delivered deliver_token(Sequence& sequence, const TokenEvent& event);

// Hands on the end. What the sink throws is logged.
void deliver_finish(Sequence& sequence, FinishReason reason, std::string_view message);

}  // namespace fathom::engine
