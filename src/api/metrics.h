// What Prometheus reads: counts of requests and tokens, times, and the engine's own numbers.
// Called by api/server. Read next: metrics.cc, api/http/exchange.h.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "api/http/exchange.h"
#include "engine/engine.h"

namespace fathom::api {

// Labels take values from fixed lists only, so that no client can make the number of series grow.
class Metrics {
 public:
  explicit Metrics(const std::string& version);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // Answers to requests of these routes are counted by route; until then, and those of no route,
  // as "none". Any thread.
  void set_routes(std::span<const http::Route> routes);

  // Counts a request that has ended. Any thread.
  void record(const http::RequestRecord& request);

  // Where the numbers of the moment come from; before that there are none. Any thread. The function
  // is called on the thread that calls text().
  void set_engine(std::function<engine::EngineStats()> stats);
  void set_connections(std::function<int64_t()> n_connections);

  // All of it in Prometheus' text format. Any thread.
  [[nodiscard]] std::string text() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace fathom::api
