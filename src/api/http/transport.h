// The server's sockets: binds, accepts, and runs all connections on one thread.
// Called by api/server. Read next: transport.cc, api/http/connection.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/exchange.h"

namespace fathom::api::http {

class Front;

struct TransportOptions {
  std::string host = "127.0.0.1";     // a name or an address; all addresses of a name are bound
  int port = 8080;                    // 0: any free one
  std::string certificate_path = {};  // with key_path: TLS; both empty: none
  std::string key_path = {};
  int64_t max_connections = 1024;
  int64_t max_head_bytes = 32 << 10;
  int64_t max_body_bytes = 16 << 20;
  int64_t max_buffer_bytes = 4 << 20;  // of a stream that the client has not taken yet
  int send_buffer_bytes = 128 << 10;   // of the kernel, per connection
  double idle_s = 75;                  // between requests
  double read_s = 60;                  // from a request's first byte to its last
  double write_s = 30;                 // until the client takes more of an answer
  double comment_s = 10;               // of silence in a stream, until a comment line is written
  int64_t max_running_per_key = 0;     // 0: no limit
  int64_t max_queued_per_key = 0;      // that wait for those; beyond them 429; 0: no limit
  int64_t max_waiting = 0;             // the same for all keys together
};

class Transport {
 public:
  // Binds and listens; nothing is accepted yet. `front` outlives it, and so does `records` (of
  // requests that the transport refuses itself; may be null). Errors: kInvalidArgument for a host
  // that names no address, an address or port that cannot be bound; those of open_tls.
  Transport(const TransportOptions& options, Front& front, RecordSink* records);

  // Ends everything at once, as stop() does.
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  // Starts the thread. Once.
  void start();

  // Where it listens, as "127.0.0.1:8080" or "[::1]:8080".
  [[nodiscard]] const std::vector<std::string>& addresses() const;
  [[nodiscard]] int port() const;

  // Nothing but this machine can reach it.
  [[nodiscard]] bool is_loopback() const;

  // Reads certificate and key again; connections that are open keep theirs. Errors: those of
  // open_tls; then the old ones stay. Any thread.
  void reload_tls();

  // Connections end after the answer at hand; new ones are still answered. Any thread.
  void drain();

  // Answers at hand end with an error. Any thread.
  void cut();

  // Closes every connection and ends the thread. Handlers' responders may live on; they do nothing.
  void stop();

  // Requests with the handler or waiting for their turn, and open connections. Any thread.
  [[nodiscard]] int64_t n_exchanges() const;
  [[nodiscard]] int64_t n_connections() const;

  // Counts up several times a second while the thread is alive.
  [[nodiscard]] uint64_t heartbeat() const;

 private:
  struct Parts;
  std::shared_ptr<Parts> parts_;
};

}  // namespace fathom::api::http
