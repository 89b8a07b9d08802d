// One streamed request to any OpenAI server, and when its tokens came.
// Called by api/load_run. Read next: load_client.cc.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/load_socket.h"

namespace fathom::api {

// Where requests go.
struct LoadTarget {
  std::string host;
  int port = 80;
  bool is_https = false;
  LoadTrust trust;     // not null with is_https, and with it alone
  std::string prefix;  // of paths, without '/' at its end; may be empty
  std::string key;     // for "Authorization: Bearer"; empty: none
};

// "http://host:port/prefix" or "https://...", with or without "/v1" at its end; `trust` is left to
// the caller. Error: kInvalidArgument.
LoadTarget parse_url(std::string_view url);

// What came of one request. Times in seconds, from when it was due.
struct LoadSample {
  std::string error;          // empty: all went well
  double first_token_s = -1;  // -1: none came
  double total_s = 0;
  std::vector<double> gaps_s;  // between events with text
  int64_t n_prompt = 0;        // as the server counts; 0: it does not say
  int64_t n_generated = 0;     // as the server counts, else events with text
};

// Sends `body` (JSON with "stream": true) to `path` and reads the events to their end. Never throws
// for what the server does: that is in `error`.
LoadSample run_request(const LoadTarget& target, const std::string& path, const std::string& body,
                       std::chrono::steady_clock::time_point due);

struct LoadAnswer {
  int status = 0;
  std::string body;  // its first 16 MiB
};

// What GET `path` is answered. Error: kPeerLost: nothing, or no HTTP.
LoadAnswer get_answer(const LoadTarget& target, const std::string& path);

// Takes the bytes of an answer apart as they come: head, chunks, events.
class EventReader {
 public:
  // Adds bytes and gives the events ("data:" texts) that they complete.
  std::vector<std::string> take(std::string_view bytes);

  [[nodiscard]] int status() const { return status_; }  // 0: the head is not complete

  [[nodiscard]] bool is_done() const { return is_done_; }

  // The body so far, when it is no stream of events.
  [[nodiscard]] const std::string& body() const { return body_; }

 private:
  bool take_head();
  void take_body();
  std::vector<std::string> take_events();

  std::string raw_;   // not yet looked at
  std::string body_;  // without chunk heads; events are taken out of it
  int status_ = 0;
  bool is_chunked_ = false;
  bool is_events_ = false;
  bool is_done_ = false;
  int64_t n_left_ = -1;     // of the body or chunk; -1: until the connection ends
  bool is_between_ = true;  // chunks
};

}  // namespace fathom::api
