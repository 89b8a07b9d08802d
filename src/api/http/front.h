// What the server answers by itself: health, readiness, metrics, version, CORS, keys, unknown
// routes. Called by api/http/connection. Read next: front.cc, api/http/exchange.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/exchange.h"
#include "api/http/key_ring.h"

namespace fathom::api::http {

// How far the server is; only kReady lets requests through to the handler.
enum class Stage : uint8_t { kLoading, kReady, kDraining };

struct FrontOptions {
  std::vector<std::string> cors_origins;  // "*": any page; empty: none
  std::string version;                    // the JSON of /version
  std::function<std::string()> metrics;   // the text of /metrics; empty: 404
};

class Front {
 public:
  explicit Front(FrontOptions options);

  // Any thread. The handler must be set before the stage becomes kReady.
  void set_handler(std::shared_ptr<Handler> handler);

  void set_stage(Stage stage) { stage_.store(stage); }

  [[nodiscard]] Stage stage() const { return stage_.load(); }

  // A step takes too long: /ready answers 503 until it is over; requests still come in.
  void set_stuck(bool is_stuck) { is_stuck_.store(is_stuck); }

  // Empty: nobody needs a key.
  void set_keys(KeyRing keys);

  // Gives the request its id and its key's name, then answers it or lets it through (nothing).
  // Needs the head only. The transport's thread.
  std::optional<Response> judge(Request& request);

  // The path, as in Route, of a request that was let through; valid as long as the handler.
  [[nodiscard]] std::string_view route_of(const Request& request) const;

  // For a request that was let through; null before one was set.
  [[nodiscard]] std::shared_ptr<Handler> handler() const;

  // X-Request-Id and CORS, for every answer.
  [[nodiscard]] Headers headers_for(const Request& request) const;

 private:
  [[nodiscard]] bool is_allowed_origin(std::string_view origin) const;
  [[nodiscard]] Response ready() const;
  [[nodiscard]] std::optional<Response> built_in(const Request& request) const;
  [[nodiscard]] std::optional<Response> check_route(const Request& request) const;
  std::string make_id();

  FrontOptions options_;
  std::atomic<Stage> stage_{Stage::kLoading};
  std::atomic<bool> is_stuck_{false};
  mutable std::mutex mutex_;  // of the next two
  std::shared_ptr<Handler> handler_;
  KeyRing keys_;
  std::mt19937_64 random_;
};

// "/v1/models/{id}" stands for "/v1/models/" and one more part.
bool is_match(std::string_view pattern, std::string_view path);

}  // namespace fathom::api::http
