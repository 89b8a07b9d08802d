// The OpenAI-compatible routes over one engine: bodies in, answers and streams out.
// Called by api/http through its Handler, made by api/server. Read next: api/openai/request.h,
// api/openai/answer.h; docs/serving.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/engine_thread.h"
#include "api/http/exchange.h"
#include "api/openai/prompts.h"
#include "api/openai/request.h"
#include "codec/chat_template.h"
#include "codec/tokenizer.h"

namespace fathom::api::openai {

struct HandlerOptions {
  std::vector<std::string> model_names;  // at least one; answers to the first where none is given
  int64_t created = 0;                   // seconds since 1970, of the model, for /v1/models
  std::string fingerprint;               // system_fingerprint of answers
  std::vector<int32_t> end_tokens;       // ids that end an answer
  int64_t context = 0;                   // positions of one sequence, for /v1/models
  Defaults defaults;
};

// Thread rule: handle() on the transport's thread; text is read on one thread of its own and
// written on another.
class OpenAiHandler final : public http::Handler {
 public:
  // `engine`, `tokenizer` and `records` (may be null) must outlive the handler, and the transport
  // must not call it any more when it goes.
  OpenAiHandler(EngineThread& engine, const codec::Tokenizer& tokenizer,
                std::optional<codec::ChatTemplate> chat, HandlerOptions options,
                http::RecordSink* records);
  ~OpenAiHandler() override;

  [[nodiscard]] std::span<const http::Route> routes() const override;
  std::optional<http::Response> refuse_early(const http::Request& head) override;
  void handle(http::Request request, std::shared_ptr<http::Responder> responder) override;

 private:
  struct State;

  std::unique_ptr<State> state_;
};

}  // namespace fathom::api::openai
