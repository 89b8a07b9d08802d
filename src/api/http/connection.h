// One client's connection: reads a request, has it answered, writes the answer, and again.
// Called by api/http/transport. Read next: connection.cc, api/http/front.h.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/answers.h"
#include "api/http/exchange.h"
#include "api/http/front.h"
#include "api/http/key_gate.h"
#include "api/http/mailbox.h"
#include "api/http/request_reader.h"
#include "api/http/signal.h"
#include "api/http/stream.h"

namespace fathom::api::http {

struct ConnectionLimits {
  ReadLimits read;
  double idle_s = 75;              // between requests
  double read_s = 60;              // from a request's first byte to its last
  double write_s = 30;             // until the client takes more of an answer
  double comment_s = 10;           // of silence in a stream, until a comment line is written
  int64_t buffer_bytes = 4 << 20;  // of a stream that the client has not taken yet
};

// What all connections share; outlives them.
struct ConnectionShared {
  Front& front;
  KeyGate& gate;
  RecordSink* records;  // of requests that the transport refuses itself; may be null
  ConnectionLimits limits;
  Mailbox::Post post;  // to the transport's thread; any thread may call it
  uint64_t next_ticket = 1;
  std::atomic<int64_t> n_exchanges = 0;  // with the handler, or waiting for their turn
};

// All on the transport's thread.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Clock = std::chrono::steady_clock;

  Connection(boost::asio::io_context& io, std::unique_ptr<Stream> stream, ConnectionShared& shared);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Serves until the client or the server has enough. The connection lives as long as this runs.
  boost::asio::awaitable<void> run();

  // Ends what has taken too long; writes comments into silent streams. Called several times a
  // second.
  void tick(Clock::time_point now);

  // No further request: closes now when idle, else after the answer at hand.
  void drain();

  // The answer at hand ends with an error that says the server goes down; its request is given up.
  void cut();

  // At once.
  void close();

 private:
  enum class Phase { kHandshake, kIdle, kReading, kAnswering, kWriting, kLingering };

  boost::asio::awaitable<void> read_loop();
  boost::asio::awaitable<bool> read_request();
  boost::asio::awaitable<void> answer();
  boost::asio::awaitable<void> write_out();
  boost::asio::awaitable<void> linger();

  bool feed_reader();
  void judge_head();
  void refuse(int status, std::string_view code, std::string_view message);
  void queue_reply(const Response& response);
  void record_refusal(int status) const;
  [[nodiscard]] std::optional<Response> refuse_early() const;
  void start_handler();
  void hand_over(uint64_t ticket);
  void give_turn(uint64_t ticket);
  void receive(uint64_t ticket, std::vector<Letter> letters);
  void take_letter(Letter& letter);
  void begin_stream(const Response& head);
  void queue_stream(std::string_view bytes);
  void end_answer();
  void mark_gone();
  void end_exchange();
  void set_deadline(Phase phase, double seconds);
  [[nodiscard]] bool is_over_limit() const;

  [[nodiscard]] bool is_answering() const { return ticket_ != 0; }

  ConnectionShared& shared_;
  std::unique_ptr<Stream> stream_;
  Signal changed_;  // anything that run() waits for
  Signal room_;     // read_loop() may read on
  Phase phase_ = Phase::kHandshake;
  std::optional<Clock::time_point> deadline_;
  bool is_timed_out_ = false;
  bool is_draining_ = false;
  bool is_at_end_ = false;  // the client sends nothing more
  bool is_gone_ = false;    // the client takes nothing more
  bool keep_alive_ = true;
  bool has_served_ = false;  // a request before the one at hand
  std::string input_;        // read, not yet part of a request
  std::string output_;       // to be written
  size_t n_writing_ = 0;     // bytes under way beside output_

  // The request at hand.
  std::unique_ptr<RequestReader> reader_;
  bool is_judged_ = false;
  std::optional<Response> verdict_;
  std::string_view route_;  // of a request that the front let through; else empty
  Request request_;
  Headers headers_;      // for the answer
  uint64_t ticket_ = 0;  // of the request with the handler; 0: none
  bool is_in_gate_ = false;
  bool has_turn_ = false;     // others of its key do not hold it up
  std::optional<Turn> turn_;  // to be taken when they no longer do
  bool is_streaming_ = false;
  Framing framing_ = Framing::kLength;
  Clock::time_point last_output_;
  std::function<void()> on_gone_;
};

}  // namespace fathom::api::http
