// What a request must satisfy before it is queued: fixed limits only, so that any thread may ask.
// Called by engine/engine. Read next: engine/request.h.
#pragma once

#include <cstdint>

#include "engine/request.h"

namespace fathom::engine {

struct RequestLimits {
  int64_t n_vocab = 0;
  int64_t context = 0;              // positions of one sequence
  int64_t n_pages = 0;              // of the whole pool
  bool allows_more_context = true;  // a longer context could be asked for
};

// Positions that the prompt and the longest answer take.
int64_t positions_needed(const Request& request, int64_t context);

// Errors: kInvalidArgument naming the field, what was found and what is allowed; kResourceExhausted
// for a prompt that is longer than the context or for more pages than there are, with both numbers.
void check_request(const Request& request, const RequestLimits& limits);

}  // namespace fathom::engine
