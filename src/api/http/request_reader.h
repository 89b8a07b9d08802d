// Bytes of a connection to requests, one after the other; Beast's parser behind a small face.
// Called by api/http/connection. Read next: request_reader.cc, api/http/front.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "api/http/exchange.h"

namespace fathom::api::http {

struct ReadLimits {
  int64_t head_bytes = 32 << 10;  // request line and headers
  int64_t body_bytes = 16 << 20;
};

// What is wrong with the bytes: the status to answer, and a sentence.
struct ReadError {
  int status = 0;
  std::string message;
};

// Reads one request. Not thread-safe.
class RequestReader {
 public:
  enum class State { kHead, kBody, kDone, kError };

  explicit RequestReader(const ReadLimits& limits);
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  // Takes bytes from the front of `bytes` and returns how many; the rest belongs to what follows.
  // Stops behind the head once, so that the caller can judge it before the body is read.
  size_t take(std::string_view bytes);

  [[nodiscard]] State state() const;

  // Some bytes of a request have come.
  [[nodiscard]] bool has_begun() const;

  // From kBody on: method, path, query and headers; in kDone the body as well. Moves it out.
  [[nodiscard]] const Request& request() const;
  Request take_request();

  [[nodiscard]] bool keep_alive() const;      // the client wants to send more
  [[nodiscard]] bool is_http_1_0() const;     // knows no chunks
  [[nodiscard]] bool wants_continue() const;  // "Expect: 100-continue"
  [[nodiscard]] bool has_body() const;        // one was declared, and it is not empty

  // Its length was declared, and is at most so many bytes.
  [[nodiscard]] bool is_body_within(size_t n_bytes) const;

  // In kError.
  [[nodiscard]] const ReadError& error() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace fathom::api::http
