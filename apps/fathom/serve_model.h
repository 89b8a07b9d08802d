// Opens the model that is served: session, engine's thread, the protocol's handler.
// Called by apps/fathom/serve.cc. Read next: serve_model.cc, api/session.h, api/openai/handler.h.
#pragma once

#include <memory>

#include "api/server.h"
#include "serve_flags.h"

namespace fathom::app {

// Errors: those of api::Session::open and of load_chat_template; kUnsupported for a model without a
// vocabulary. `records` outlives what is given.
api::ServedModel open_served_model(const ServeFlags& flags,
                                   const std::shared_ptr<api::http::RecordSink>& records);

}  // namespace fathom::app
