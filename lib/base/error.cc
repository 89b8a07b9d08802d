// Names of the error codes.
#include "base/error.h"

#include <utility>

namespace fathom {

std::string_view name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid argument";
    case ErrorCode::kNotFound:
      return "not found";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kCorruptFile:
      return "corrupt file";
    case ErrorCode::kOutOfMemory:
      return "out of memory";
    case ErrorCode::kResourceExhausted:
      return "resource exhausted";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kDeadline:
      return "deadline";
    case ErrorCode::kPeerLost:
      return "peer lost";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "unknown";
}

void fail(ErrorCode code, std::string message) {
  throw Error(code, std::move(message));
}

}  // namespace fathom
