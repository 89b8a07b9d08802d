// Ids and key names come from outside: they are quoted where JSON wants it, and hold no line ends.
// Read next: base/log.h.
#include "api/request_log.h"

#include <fmt/format.h>

#include <string_view>

#include "base/log.h"

namespace fathom::api {

std::string request_text(const http::RequestRecord& request) {
  std::string text =
      fmt::format("{} {} {}", request.id.empty() ? "-" : request.id,
                  request.route.empty() ? "(refused)" : request.route, request.status);
  const auto add = [&](std::string_view name, double seconds) {
    if (seconds >= 0) {
      text += fmt::format(" {}={:.3f}s", name, seconds);
    }
  };
  if (!request.finish_reason.empty()) {
    text += fmt::format(" {}", request.finish_reason);
  }
  if (!request.key.empty()) {
    text += fmt::format(" key={}", request.key);
  }
  if (request.prompt_tokens > 0) {
    text += fmt::format(" in={} cached={} out={}", request.prompt_tokens, request.cached_tokens,
                        request.generated_tokens);
  }
  add("queue", request.queue_s);
  add("ttft", request.first_token_s);
  add("per_token", request.inter_token_s);
  if (!request.route.empty()) {
    add("total", request.total_s);
  }
  return text;
}

std::string request_members(const http::RequestRecord& request) {
  std::string text = fmt::format(
      R"("message":"request","id":{},"route":{},"status":{},"stream":{})", quote_json(request.id),
      quote_json(request.route), request.status, request.is_stream);
  const auto add = [&](std::string_view name, double seconds) {
    if (seconds >= 0) {
      text += fmt::format(R"(,"{}":{:.6f})", name, seconds);
    }
  };
  if (!request.finish_reason.empty()) {
    text += fmt::format(R"(,"finish_reason":{})", quote_json(request.finish_reason));
  }
  if (!request.key.empty()) {
    text += fmt::format(R"(,"key":{})", quote_json(request.key));
  }
  text += fmt::format(R"(,"prompt_tokens":{},"cached_tokens":{},"generated_tokens":{})",
                      request.prompt_tokens, request.cached_tokens, request.generated_tokens);
  add("queue_s", request.queue_s);
  add("first_token_s", request.first_token_s);
  add("inter_token_s", request.inter_token_s);
  add("total_s", request.total_s);
  return text;
}

}  // namespace fathom::api
