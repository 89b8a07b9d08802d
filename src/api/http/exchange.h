// The seam between transport and protocol: one request, its answer, what is recorded of it.
// Called by api/http/transport, implemented in api/openai and api/metrics. Read next:
// api/http/transport.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fathom::api::http {

using Headers = std::vector<std::pair<std::string, std::string>>;

// The value of the first header of that name (letters of either case); empty without one.
std::string_view find_header(const Headers& headers, std::string_view name);

struct Request {
  std::string method;  // GET, POST ...
  std::string path;    // without the query, still percent-encoded
  std::string query;   // behind '?', may be empty
  Headers headers;
  std::string body;
  std::string id;   // X-Request-Id: the client's, or made here
  std::string key;  // name of the API key, or "key-" and the begin of its digest; "" without one

  [[nodiscard]] std::string_view header(std::string_view name) const {
    return find_header(headers, name);
  }
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  Headers headers = {};
  std::string body = {};
};

// What a request does when it may run: an API key may have a limit on how many of its requests run
// at once. One of the two is called, once, or neither where the request has ended before.
struct Turn {
  std::function<void()> start;
  std::chrono::steady_clock::time_point until =
      std::chrono::steady_clock::time_point::max();  // it waits no longer than this
  std::function<void()> late = {};                   // it has waited that long
};

// Where the answer to one request goes: reply() once, or begin_stream(), send() any number of times
// and end_stream(). Any thread; never blocks. Calls after the end, and after the client is gone, do
// nothing. A responder that is destroyed before its answer is whole answers 500 itself.
class Responder {
 public:
  virtual ~Responder() = default;

  // The whole answer.
  virtual void reply(Response response) = 0;

  // Status and headers of a stream; the content type is text/event-stream. Until the first send()
  // the transport writes a comment line every few seconds, so that no client and no proxy gives up.
  virtual void begin_stream(Response head) = 0;

  // Bytes of the stream, as they are.
  virtual void send(std::string bytes) = 0;

  virtual void end_stream() = 0;

  // `gone` is called at most once, on the transport's thread, when the client is gone, or too slow,
  // or the server's time to drain is over; soon after this call if that is so already. Not called
  // once the answer is whole.
  virtual void on_gone(std::function<void()> gone) = 0;

  // True: it has been called here and now. False: the request has to wait, and its turn comes on
  // the transport's thread, where it must return quickly and not throw. For work that the limits
  // of a key are about; at most once.
  virtual bool when_turn(Turn turn) = 0;
};

// A route of the handler. A path that ends in "/{id}" stands for one more part of any text.
struct Route {
  std::string_view method;
  std::string_view path;
};

// Answers the requests of its routes.
class Handler {
 public:
  virtual ~Handler() = default;

  // All routes; valid as long as the handler. Other paths get 404, other methods 405.
  [[nodiscard]] virtual std::span<const Route> routes() const = 0;

  // An answer that needs no body, to a request that would get it whatever its body says; `head` has
  // none yet. Nothing: handle() has to decide. On the transport's thread.
  virtual std::optional<Response> refuse_early(const Request& head) {
    static_cast<void>(head);
    return std::nullopt;
  }

  // On the transport's thread, so it must return quickly. What it throws becomes a 500.
  virtual void handle(Request request, std::shared_ptr<Responder> responder) = 0;
};

// What is known of one request that has ended, for the log and the metrics. Never its text.
struct RequestRecord {
  std::string id = {};          // X-Request-Id
  std::string key = {};         // as in Request
  std::string_view route = "";  // as in Route; static; empty: refused before it was known
  int status = 0;               // of the answer; 499: the client was gone before it
  bool is_stream = false;       // server-sent events
  int64_t prompt_tokens = 0;    // of the request, all choices together
  int64_t cached_tokens = 0;
  int64_t generated_tokens = 0;
  double queue_s = -1;        // from arrival to admission; -1: not known
  double first_token_s = -1;  // from arrival to the first token; -1: there was none
  double total_s = 0;         // from arrival to the last byte queued
  double inter_token_s = -1;  // mean; -1: fewer than two tokens
  std::vector<float> inter_tokens_s =
      {};                               // each gap between tokens, for the histogram; may be empty
  std::string_view finish_reason = "";  // "stop", "length", "cancelled" ...; static
};

// Takes records; any thread.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  virtual void record(const RequestRecord& request) = 0;
};

}  // namespace fathom::api::http
