// Calls out of order are dropped: after the end of an answer nothing more can change it.
// Read next: api/http/connection.cc.
#include "api/http/mailbox.h"

#include <utility>

namespace fathom::api::http {

Mailbox::~Mailbox() {
  if (stage_ != Stage::kEnded) {
    std::vector<Letter> letters = std::move(letters_);
    letters.push_back({.kind = Letter::Kind::kAbandoned});
    post_([receive = std::move(receive_), letters = std::move(letters)]() mutable {
      receive(std::move(letters));
    });
  }
}

void Mailbox::write(Letter letter, Stage expected, Stage next) {
  {
    const std::lock_guard lock(mutex_);
    if (stage_ != expected) {
      return;
    }
    stage_ = next;
    letters_.push_back(std::move(letter));
    if (is_posted_) {
      return;
    }
    is_posted_ = true;
  }
  post_([self = shared_from_this()] {
    std::vector<Letter> letters;
    {
      const std::lock_guard lock(self->mutex_);
      letters = std::exchange(self->letters_, {});
      self->is_posted_ = false;
    }
    self->receive_(std::move(letters));
  });
}

void Mailbox::reply(Response response) {
  write({.kind = Letter::Kind::kReply, .response = std::move(response)}, Stage::kNew,
        Stage::kEnded);
}

void Mailbox::begin_stream(Response head) {
  write({.kind = Letter::Kind::kBegin, .response = std::move(head)}, Stage::kNew,
        Stage::kStreaming);
}

void Mailbox::send(std::string bytes) {
  write({.kind = Letter::Kind::kSend, .bytes = std::move(bytes)}, Stage::kStreaming,
        Stage::kStreaming);
}

void Mailbox::end_stream() {
  write({.kind = Letter::Kind::kEnd}, Stage::kStreaming, Stage::kEnded);
}

void Mailbox::on_gone(std::function<void()> gone) {
  Stage stage = Stage::kNew;
  {
    const std::lock_guard lock(mutex_);
    stage = stage_;
  }
  if (stage != Stage::kEnded) {
    write({.kind = Letter::Kind::kOnGone, .gone = std::move(gone)}, stage, stage);
  }
}

// Not among the letters: those would keep the mailbox, which the turn keeps, when nobody reads
// them.
bool Mailbox::when_turn(Turn turn) {
  if (has_turn_) {
    turn.start();
    return true;
  }
  post_([receive = receive_, turn = std::move(turn)]() mutable {
    std::vector<Letter> letters;
    letters.push_back({.kind = Letter::Kind::kTurn, .turn = std::move(turn)});
    receive(std::move(letters));
  });
  return false;
}

}  // namespace fathom::api::http
