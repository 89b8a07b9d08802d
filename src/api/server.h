// The server's life: bind, load, serve, watch, drain, stop. Knows no protocol and no signals.
// Called by apps/fathom/serve.cc. Read next: server.cc, api/http/transport.h.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/transport.h"
#include "engine/engine.h"

namespace fathom::api {

struct ServerOptions {
  http::TransportOptions transport;
  std::string version;   // "1.2.3"
  std::string key_file;  // empty: none
  std::string keys;      // FATHOM_API_KEYS; empty: none
  bool no_auth = false;  // reachable from other machines without keys
  std::vector<std::string> cors_origins;
  double drain_s = 30;
  double watchdog_s = 120;  // of one step; 0: no limit
};

// The step that is under way, for the watchdog.
struct StepBeat {
  double seconds = 0;           // since it began; 0: none is
  std::string_view phase = "";  // static
};

// What loading a model gives.
struct ServedModel {
  std::shared_ptr<http::Handler> handler;
  std::function<engine::EngineStats()> stats;  // any thread
  std::function<StepBeat()> beat;              // any thread
  std::function<void()> stop;                  // ends the engine's thread; called once
};

class Server {
 public:
  enum class State { kLoading, kServing, kDraining, kStopped, kFailed };

  // Binds the port and answers /health from here on. Errors: those of Transport and of KeyRing;
  // kInvalidArgument for an address beyond this machine without keys and without no_auth.
  explicit Server(const ServerOptions& options);

  // Ends at once.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Takes records of ended requests: counts and logs them. Any thread.
  [[nodiscard]] std::shared_ptr<http::RecordSink> records() const;

  // Runs `load` on a thread of its own. Once.
  void load(std::function<ServedModel()> load);

  // Looks after everything; to be called several times a second, always by the same thread.
  State tick();

  // No new requests; kStopped when those under way are done, at the latest after drain_s. Called a
  // second time, nothing is waited for. The thread of tick().
  void drain();

  // Reads keys and certificates again; what is wrong with them is logged, and the old ones stay.
  void reload();

  // Why the state is kFailed.
  [[nodiscard]] std::exception_ptr failure() const;

  [[nodiscard]] const std::vector<std::string>& addresses() const;
  [[nodiscard]] int port() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace fathom::api
