// The table, and OpenAI's form of an error.
// Called by all of api/openai. Read next: docs/serving.md.
#include "api/openai/errors.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/check.h"

namespace fathom::api::openai {

namespace {

// clang-format off
constexpr auto kCauses = std::to_array<CauseRow>({
    {Cause::kBadRequest, 400, "invalid_request_error", "invalid_value", "", "A field, the JSON or the chat template refuses the request; param names the field"},
    {Cause::kTooLong, 400, "invalid_request_error", "context_length_exceeded", "", "The prompt is longer than the context, or prompt and answer need more pages than there are; the message has both numbers"},
    {Cause::kNotOffered, 400, "invalid_request_error", "unsupported", "", "A field or route that Fathom knows and does not offer"},
    {Cause::kUnknownModel, 404, "invalid_request_error", "model_not_found", "", "The model is not the one that is served"},
    {Cause::kQueueFull, 429, "rate_limit_error", "queue_full", "", "--max-queued answers run or wait already; Retry-After says when to come again"},
    {Cause::kQueueTimeout, 503, "server_error", "queue_timeout", "queue_timeout", "The request waited longer than its queue_timeout_seconds, or the server's, and was never begun"},
    {Cause::kDeadline, 504, "server_error", "deadline_exceeded", "deadline", "The answer was not whole by its deadline_seconds, or the server's"},
    {Cause::kStopping, 503, "server_error", "stopping", "cancelled", "The server ends and its time to drain is over"},
    {Cause::kClientGone, 499, "server_error", "client_gone", "cancelled", "The client closed the connection, or read too slowly; nobody is told, the log is"},
    {Cause::kInternal, 500, "server_error", "internal_error", "error", "Something is wrong with the model or with Fathom; the message and the log say what"},
});
// clang-format on

}  // namespace

std::span<const CauseRow> causes() {
  return kCauses;
}

const CauseRow& row_of(Cause cause) {
  const CauseRow& row = kCauses.at(static_cast<size_t>(cause));
  FATHOM_CHECK(row.cause == cause);
  return row;
}

Cause cause_of(const Error& error) {
  if (const auto* refused = dynamic_cast<const RequestError*>(&error)) {
    return refused->cause();
  }
  switch (error.code()) {
    case ErrorCode::kInvalidArgument:
      return Cause::kBadRequest;
    case ErrorCode::kResourceExhausted:
      return Cause::kTooLong;
    case ErrorCode::kUnsupported:
      return Cause::kNotOffered;
    default:
      return Cause::kInternal;
  }
}

std::string error_body(Cause cause, std::string_view message, std::string_view param) {
  const CauseRow& row = row_of(cause);
  nlohmann::ordered_json error = {
      {"message", message}, {"type", row.type}, {"param", nullptr}, {"code", row.code}};
  if (!param.empty()) {
    error["param"] = param;
  }
  const nlohmann::ordered_json body = {{"error", error}};
  return body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

http::Response error_response(Cause cause, std::string_view message, std::string_view param) {
  http::Response response;
  response.status = row_of(cause).status;
  response.body = error_body(cause, message, param);
  if (response.status == 429 || response.status == 503) {
    response.headers.emplace_back("Retry-After", "1");
  }
  return response;
}

Cause cause_of(engine::FinishReason reason) {
  switch (reason) {
    case engine::FinishReason::kDeadline:
      return Cause::kDeadline;
    case engine::FinishReason::kQueueTimeout:
      return Cause::kQueueTimeout;
    case engine::FinishReason::kCancelled:
      return Cause::kStopping;
    default:
      return Cause::kInternal;
  }
}

}  // namespace fathom::api::openai
