// Bytes of answers: heads, chunks, and errors in OpenAI's form.
// Called by api/http/front and api/http/connection. Read next: answers.cc.
#pragma once

#include <string>
#include <string_view>

#include "api/http/exchange.h"

namespace fathom::api::http {

// {"error": {"message", "type", "param": null, "code"}}; the type follows from the status.
Response error_response(int status, std::string_view code, std::string_view message);

// The same object as the last event of a stream.
std::string error_event(int status, std::string_view code, std::string_view message);

// How an answer's body is delimited.
enum class Framing {
  kLength,   // Content-Length
  kChunked,  // chunks of HTTP/1.1
  kClose,    // by the end of the connection, for HTTP/1.0
};

struct HeadOptions {
  Framing framing = Framing::kLength;
  bool keep_alive = true;
};

// Status line and headers, with `extra` behind those of the response, up to the empty line. Control
// letters in values become blanks: no value can begin another header.
std::string head_text(const Response& response, const Headers& extra, const HeadOptions& options);

// One chunk of a chunked body; nothing for no bytes (an empty chunk would end the body).
std::string chunk_text(std::string_view bytes);

inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace fathom::api::http
