// Logits of every position of a list of ids: what `fathom logits` writes and measures read.
// Called by apps/logits, api/perplexity. Read next: model/model.h.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "api/session.h"

namespace fathom::api {

// Runs `ids` through the model in chunks and calls `on_rows(first, rows)` with the logits
// [n, n_vocab] of positions first ... first + n; valid during the call, and free to be written to.
// Positions before `first_wanted` are read without logits. The session must have been opened with
// max_logits > 0 (FATHOM_CHECK). Errors: kInvalidArgument (no ids, an id outside the
// vocabulary), kResourceExhausted (more ids than the context, both numbers named), kInternal (a NaN
// or infinity in the activations: layer and tensor named).
void score(Session& session, std::span<const int32_t> ids,
           const std::function<void(int64_t, const ops::Rows&)>& on_rows, int64_t first_wanted = 0);

}  // namespace fathom::api
