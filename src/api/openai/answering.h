// From the body of a chat or completion to jobs for the engine and an answer under way.
// Called by api/openai/handler. Read next: api/openai/answer.h.
#pragma once

#include <memory>
#include <string>

#include "api/openai/answer.h"
#include "api/openai/handler.h"

namespace fathom::api::openai {

// What all answers share. All must outlive the answers.
struct Answering {
  EngineThread* engine = nullptr;
  const PromptMaker* prompts = nullptr;
  Worker* writer = nullptr;
  http::RecordSink* records = nullptr;  // may be null
  const HandlerOptions* options = nullptr;
};

// Answers a request that came at `arrived`; where it has to wait for others of its API key, the
// engine gets it later. Errors, before anything is queued or written: RequestError and those of
// Engine::check.
void start_answer(const Answering& shared, Route route, const http::Request& request,
                  const std::shared_ptr<Client>& client, engine::Clock::time_point arrived);

// How many run or wait, and how many may.
std::string queue_full_message(const EngineThread& engine);

// Error: RequestError for a model that is not served.
void check_model(const HandlerOptions& options, const std::string& name);

}  // namespace fathom::api::openai
