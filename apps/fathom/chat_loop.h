// The interactive chat: questions from the terminal, answers as they come.
// Called by run.cc. Read next: codec/chat_template.h.
#pragma once

#include "api/session.h"
#include "run_flags.h"

namespace fathom::app {

// Runs until /exit or the end of stdin; returns the exit status. A turn computes what its prompt
// does not share, page by page, with those before. Errors: kUnsupported (no chat template, no
// vocabulary).
int chat_loop(const RunFlags& flags, api::Session& session);

}  // namespace fathom::app
