// The thread that steps one engine: requests come in from any thread, tokens go out to their sinks.
// Called by api/openai/handler and api/server. Read next: engine/engine.h, api/engine_thread.cc.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/request.h"

namespace fathom::api {

// One request's place in the thread; never 0.
using Ticket = uint64_t;

// A prompt with a sink for each of its choices.
struct EngineJob {
  engine::Request request;
  std::vector<std::shared_ptr<engine::TextSink>> sinks;
};

// What the step thread is doing, for whoever watches over it.
struct Pulse {
  uint64_t n_steps = 0;                         // begun so far
  bool is_stepping = false;                     // a step runs now
  std::chrono::steady_clock::time_point since;  // begin of that step, or of the rest
  bool has_failed = false;  // a step threw: all requests were ended, no new ones are taken
};

class EngineThread {
 public:
  // Starts the thread; nobody else may use the engine until stop(). At most `max_open` choices run
  // or wait at once.
  EngineThread(engine::Engine& engine, int64_t max_open);

  // stop()
  ~EngineThread();
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;

  // What try_submit would refuse. Any thread. Errors: those of Engine::check.
  void check(const engine::Request& request) const;

  // Queues all jobs under one ticket, or nothing: nullopt when fewer than that many places are
  // left, or the thread has stopped. Sinks are kept alive until their on_finish, and called on the
  // step thread. Any thread. Errors: those of Engine::check; nothing is queued then.
  std::optional<Ticket> try_submit(std::vector<EngineJob> jobs);

  // Ends what is left of a request at the next step border; its sinks get kCancelled. Any thread;
  // unknown tickets are ignored.
  void cancel(Ticket ticket);

  // Ends all requests (kCancelled), then the thread. May be called again; not from a sink.
  void stop();

  // As of the last step border. Any thread.
  [[nodiscard]] engine::EngineStats stats() const;
  [[nodiscard]] Pulse pulse() const;

  // Choices that run or wait. Any thread.
  [[nodiscard]] int64_t n_open() const;

  [[nodiscard]] int64_t max_open() const;

 private:
  struct State;

  std::unique_ptr<State> state_;
};

}  // namespace fathom::api
