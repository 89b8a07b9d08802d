// Brings what the protocol says about one answer, from any thread, to the transport's thread.
// Called by api/http/connection. Read next: mailbox.cc, api/http/exchange.h.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/http/exchange.h"

namespace fathom::api::http {

// One call of a Responder.
struct Letter {
  enum class Kind { kReply, kBegin, kSend, kEnd, kOnGone, kTurn, kAbandoned };
  Kind kind;
  Response response = {};           // kReply, kBegin
  std::string bytes = {};           // kSend
  std::function<void()> gone = {};  // kOnGone
  Turn turn = {};                   // kTurn
};

// Letters written while others are on their way travel together with them.
class Mailbox : public Responder, public std::enable_shared_from_this<Mailbox> {
 public:
  using Post = std::function<void(std::function<void()>)>;   // runs it on the other thread
  using Receive = std::function<void(std::vector<Letter>)>;  // there

  // `has_turn`: the request need not wait for others of its key.
  Mailbox(Post post, Receive receive, bool has_turn)
      : post_(std::move(post)), receive_(std::move(receive)), has_turn_(has_turn) {}

  ~Mailbox() override;
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  void reply(Response response) override;
  void begin_stream(Response head) override;
  void send(std::string bytes) override;
  void end_stream() override;
  void on_gone(std::function<void()> gone) override;
  bool when_turn(Turn turn) override;

 private:
  enum class Stage { kNew, kStreaming, kEnded };

  void write(Letter letter, Stage expected, Stage next);

  Post post_;
  Receive receive_;
  bool has_turn_;
  std::mutex mutex_;  // of the following
  Stage stage_ = Stage::kNew;
  std::vector<Letter> letters_;
  bool is_posted_ = false;
};

}  // namespace fathom::api::http
