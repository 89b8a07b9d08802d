// The handler's side of a connection: its turn, what it says, how a stream is framed.
// Called by api/http/connection. Read next: api/http/mailbox.h.
#include <fmt/format.h>

#include <exception>
#include <utility>

#include "api/http/connection.h"
#include "base/log.h"

namespace fathom::api::http {

namespace {

Response too_many_of_key() {
  Response response = error_response(
      429, "rate_limit_exceeded",
      "too many requests of this API key run or wait, or too many of all keys wait; try again when "
      "one is done");
  response.headers.emplace_back("Retry-After", "1");
  return response;
}

// Only what belongs to the client that is gone is left to do.
void only_gone(std::vector<Letter>& letters) {
  for (Letter& letter : letters) {
    if (letter.kind == Letter::Kind::kOnGone) {
      letter.gone();
    }
  }
}

}  // namespace

void Connection::queue_reply(const Response& response) {
  output_ += head_text(response, headers_, {.keep_alive = keep_alive_});
  if (request_.method != "HEAD") {
    output_ += response.body;
  }
}

// Of an answer that is the transport's own.
void Connection::record_refusal(int status) const {
  if (shared_.records != nullptr) {
    shared_.records->record(
        {.id = request_.id, .key = request_.key, .route = route_, .status = status});
  }
}

// A stream that grows beyond the limit while the client does not read.
bool Connection::is_over_limit() const {
  return output_.size() + n_writing_ > static_cast<size_t>(shared_.limits.buffer_bytes);
}

// What has no place is told so by its head: its body is neither waited for nor looked at.
std::optional<Response> Connection::refuse_early() const {
  if (request_.method == "POST" && shared_.gate.is_full(request_.key)) {
    return too_many_of_key();
  }
  return shared_.front.handler()->refuse_early(request_);
}

// The handler reads a request that has to wait for its turn as well: what is wrong with it is told
// at once, and a stream can begin.
void Connection::start_handler() {
  const uint64_t ticket = shared_.next_ticket++;
  ticket_ = ticket;
  shared_.n_exchanges.fetch_add(1);
  is_streaming_ = false;
  turn_.reset();
  const auto start = [weak = weak_from_this(), ticket] {
    if (const auto self = weak.lock()) {
      self->give_turn(ticket);
    }
  };
  const bool is_counted = request_.method == "POST";
  is_in_gate_ = is_counted;
  switch (is_counted ? shared_.gate.enter(request_.key, ticket, start) : KeyGate::Entry::kRun) {
    case KeyGate::Entry::kRun:
      has_turn_ = true;
      hand_over(ticket);
      break;
    case KeyGate::Entry::kWait:
      has_turn_ = false;
      hand_over(ticket);
      break;
    case KeyGate::Entry::kFull:
      is_in_gate_ = false;
      end_exchange();
      queue_reply(too_many_of_key());
      record_refusal(429);
      break;
  }
}

void Connection::hand_over(uint64_t ticket) {
  const std::shared_ptr<Handler> handler = shared_.front.handler();
  const auto responder = std::make_shared<Mailbox>(
      shared_.post,
      [weak = weak_from_this(), ticket](std::vector<Letter> letters) {
        if (const auto self = weak.lock()) {
          self->receive(ticket, std::move(letters));
        } else {
          only_gone(letters);
        }
      },
      has_turn_);
  const std::string id = request_.id;
  try {
    handler->handle(request_, responder);
  } catch (const std::exception& error) {
    warn(fmt::format("request {} failed: {}", id, error.what()));
  }  // the responder answers 500 when nobody keeps it
}

void Connection::give_turn(uint64_t ticket) {
  if (ticket != ticket_) {
    return;
  }
  has_turn_ = true;
  if (turn_) {
    const Turn turn = std::move(*turn_);
    turn_.reset();
    turn.start();
  }
}

void Connection::receive(uint64_t ticket, std::vector<Letter> letters) {
  const bool was_over_limit = is_over_limit();  // one large event alone is not the client's fault
  for (Letter& letter : letters) {
    if (ticket == ticket_ && !is_gone_) {
      take_letter(letter);
    } else if (letter.kind == Letter::Kind::kOnGone) {
      letter.gone();
    }
  }
  if (was_over_limit && ticket == ticket_ && is_streaming_ && is_over_limit()) {
    mark_gone();
  }
  changed_.raise();
}

void Connection::take_letter(Letter& letter) {
  switch (letter.kind) {
    case Letter::Kind::kReply:
      queue_reply(letter.response);
      end_answer();
      break;
    case Letter::Kind::kBegin:
      begin_stream(letter.response);
      break;
    case Letter::Kind::kSend:
      queue_stream(letter.bytes);
      break;
    case Letter::Kind::kEnd:
      output_ += framing_ == Framing::kChunked ? kLastChunk : std::string_view();
      end_answer();
      break;
    case Letter::Kind::kOnGone:
      on_gone_ = std::move(letter.gone);
      break;
    case Letter::Kind::kTurn:
      if (has_turn_) {
        letter.turn.start();
      } else {
        turn_ = std::move(letter.turn);
      }
      break;
    case Letter::Kind::kAbandoned:
      if (is_streaming_) {
        mark_gone();  // a cut stream is the only error that is left to show
      } else {
        queue_reply(error_response(500, "internal_error", "the request could not be answered"));
        end_answer();
      }
      break;
  }
}

void Connection::begin_stream(const Response& head) {
  Response response = head;
  response.content_type = "text/event-stream";
  response.headers.emplace_back("Cache-Control", "no-cache");
  response.headers.emplace_back("X-Accel-Buffering", "no");
  framing_ = reader_->is_http_1_0() ? Framing::kClose : Framing::kChunked;
  keep_alive_ = keep_alive_ && framing_ == Framing::kChunked;
  output_ += head_text(response, headers_, {.framing = framing_, .keep_alive = keep_alive_});
  is_streaming_ = true;
  last_output_ = Clock::now();
}

void Connection::queue_stream(std::string_view bytes) {
  output_ += framing_ == Framing::kChunked ? chunk_text(bytes) : std::string(bytes);
  last_output_ = Clock::now();
}

void Connection::end_answer() {
  end_exchange();
  is_streaming_ = false;
  on_gone_ = nullptr;
  turn_.reset();
}

// What the handler still says about the request goes nowhere; the next of its key has its turn.
void Connection::end_exchange() {
  const uint64_t ticket = std::exchange(ticket_, 0);
  if (ticket == 0) {
    return;
  }
  shared_.n_exchanges.fetch_sub(1);
  if (std::exchange(is_in_gate_, false)) {
    shared_.gate.leave(request_.key, ticket);
  }
}

void Connection::cut() {
  drain();
  if (!is_answering()) {
    return;
  }
  constexpr std::string_view kCode = "draining";
  constexpr std::string_view kWhy = "the server went down before the answer was complete";
  if (is_streaming_) {
    queue_stream(error_event(503, kCode, kWhy));
    output_ += framing_ == Framing::kChunked ? kLastChunk : std::string_view();
  } else {
    queue_reply(error_response(503, kCode, kWhy));
  }
  const std::function<void()> gone = std::exchange(on_gone_, nullptr);
  const std::optional<Turn> turn = std::exchange(turn_, std::nullopt);  // until it knows
  end_answer();
  if (gone) {
    gone();
  }
}

}  // namespace fathom::api::http
