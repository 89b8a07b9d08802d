// Why a request fails, and what the client is told: one table for statuses, types and codes of
// OpenAI's error objects, for whole answers and streams alike.
// Called by all of api/openai. Read next: api/openai/errors.cc.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "api/http/exchange.h"
#include "base/error.h"
#include "engine/request.h"

namespace fathom::api::openai {

enum class Cause : uint8_t {
  kBadRequest,
  kTooLong,
  kNotOffered,
  kUnknownModel,
  kQueueFull,
  kQueueTimeout,
  kDeadline,
  kStopping,
  kClientGone,
  kInternal,
};

struct CauseRow {
  Cause cause;
  int status = 0;  // of a whole answer; of a stream that has begun it is 200
  std::string_view type;
  std::string_view code;
  std::string_view finish_reason;  // in log and metrics; "" where nothing was begun
  std::string_view says;           // for documents
};

std::span<const CauseRow> causes();
const CauseRow& row_of(Cause cause);

// A request that cannot be answered. `param`: the field, or "".
class RequestError : public Error {
 public:
  RequestError(Cause cause, std::string message, std::string param = {})
      : Error(ErrorCode::kInvalidArgument, std::move(message)),
        cause_(cause),
        param_(std::move(param)) {}

  [[nodiscard]] Cause cause() const { return cause_; }

  [[nodiscard]] const std::string& param() const { return param_; }

 private:
  Cause cause_;
  std::string param_;
};

// What an error of the rooms below means for a request: their kInvalidArgument, kResourceExhausted
// (a prompt or template beyond its limits), kUnsupported are the client's, all others ours.
Cause cause_of(const Error& error);

// {"error":{"message":...,"type":...,"param":...,"code":...}}
std::string error_body(Cause cause, std::string_view message, std::string_view param = {});

// The whole answer; Retry-After where trying again may help.
http::Response error_response(Cause cause, std::string_view message, std::string_view param = {});

// Why a request ended that the engine gave up; kInternal for reasons that are no failure.
Cause cause_of(engine::FinishReason reason);

}  // namespace fathom::api::openai
