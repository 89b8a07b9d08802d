// The one exception type of the project and its codes: what, where, found, expected, what to do.
// Called by every room; caught at the borders only: the command line, a request, an engine step.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace fathom {

// What kind of wrong it is. Callers branch on the code, never on the text.
enum class ErrorCode {
  kInvalidArgument,    // a value the user gave is out of range or of the wrong kind
  kNotFound,           // a file, tensor or name that is not there
  kUnsupported,        // well-formed, but a kind that this build does not do
  kCorruptFile,        // bytes that break their format
  kOutOfMemory,        // the plan does not fit, or an allocation failed
  kResourceExhausted,  // a limit of ours: queue, pages, context
  kCancelled,
  kDeadline,
  kPeerLost,
  kInternal,  // our own mistake, found at run time
};

// "corrupt file", "invalid argument" ...
std::string_view name_of(ErrorCode code);

class Error : public std::exception {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  [[nodiscard]] ErrorCode code() const { return code_; }

  [[nodiscard]] const char* what() const noexcept override { return message_.c_str(); }

 private:
  ErrorCode code_;
  std::string message_;
};

// Throws Error(code, message).
[[noreturn]] void fail(ErrorCode code, std::string message);

}  // namespace fathom
