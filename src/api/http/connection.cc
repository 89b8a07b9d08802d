// The loop: run() waits for what read_loop() reads and for what the handler's letters bring
// (connection_answer.cc), and is the only one that writes.
#include "api/http/connection.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <utility>

namespace fathom::api::http {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr size_t kReadBytes = 4096;       // of memory that every connection has
constexpr size_t kAheadBytes = 64 << 10;  // read and not used yet; no less than the longest head
constexpr size_t kWriteBytes = 64 << 10;  // given to the socket at once
constexpr size_t kLingerBytes = 8 << 20;  // taken and dropped before closing
constexpr double kLingerSeconds = 2;

}  // namespace

Connection::Connection(asio::io_context& io, std::unique_ptr<Stream> stream,
                       ConnectionShared& shared)
    : shared_(shared), stream_(std::move(stream)), changed_(io), room_(io) {}

Connection::~Connection() = default;

void Connection::set_deadline(Phase phase, double seconds) {
  phase_ = phase;
  is_timed_out_ = false;
  deadline_ = Clock::now() +
              std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

asio::awaitable<void> Connection::run() {
  const std::shared_ptr<Connection> self = shared_from_this();
  set_deadline(Phase::kHandshake, shared_.limits.read_s);
  error_code error;
  co_await stream_->handshake(error);
  if (error) {
    stream_->close();
    co_return;
  }
  asio::co_spawn(co_await asio::this_coro::executor, read_loop(), asio::detached);
  while (!is_gone_ && co_await read_request()) {
    co_await answer();
    has_served_ = true;
    if (is_gone_ || !keep_alive_) {
      break;
    }
  }
  co_await linger();
  close();
}

asio::awaitable<void> Connection::read_loop() {
  const std::shared_ptr<Connection> self = shared_from_this();
  std::vector<char> buffer(kReadBytes);
  size_t n_dropped = 0;
  while (true) {
    while (input_.size() >= kAheadBytes && phase_ != Phase::kLingering && !is_gone_) {
      co_await room_.wait();
    }
    error_code error;
    const size_t n = co_await stream_->read_some(buffer, error);
    if (error || is_gone_ || n_dropped > kLingerBytes) {
      break;
    }
    if (phase_ == Phase::kLingering) {
      n_dropped += n;
      input_.clear();
      continue;
    }
    input_.append(buffer.data(), n);
    changed_.raise();
  }
  is_at_end_ = true;
  if (is_answering()) {  // whoever closes does not wait for the answer
    mark_gone();
  }
  changed_.raise();
}

// Gives the reader what was read. False when it cannot go on without more.
bool Connection::feed_reader() {
  while (true) {
    const RequestReader::State before = reader_->state();
    const size_t n = reader_->take(input_);
    input_.erase(0, n);
    if (reader_->state() != before) {
      room_.raise();
      return true;
    }
    if (n == 0 || input_.empty()) {
      room_.raise();
      return false;
    }
  }
}

void Connection::refuse(int status, std::string_view code, std::string_view message) {
  verdict_ = error_response(status, code, message);
  keep_alive_ = false;
  is_judged_ = true;
}

void Connection::judge_head() {
  is_judged_ = true;
  request_ = reader_->take_request();
  verdict_ = shared_.front.judge(request_);
  route_ = verdict_ ? std::string_view() : shared_.front.route_of(request_);
  bool is_short = false;  // a body that is sooner taken and dropped than a new connection made
  if (!verdict_ && reader_->has_body()) {
    verdict_ = refuse_early();
    is_short = verdict_ && !reader_->wants_continue() && reader_->is_body_within(kAheadBytes);
  }
  headers_ = shared_.front.headers_for(request_);
  keep_alive_ = reader_->keep_alive() && !is_draining_;
  if (verdict_ && reader_->has_body() && !is_short) {
    keep_alive_ = false;  // the body is not waited for
  } else if (reader_->wants_continue() && reader_->has_body() && input_.empty()) {
    output_ += "HTTP/1.1 100 Continue\r\n\r\n";
  }
}

// True when request_ is whole, or verdict_ says what is wrong with it. False: there is none.
asio::awaitable<bool> Connection::read_request() {
  reader_ = std::make_unique<RequestReader>(shared_.limits.read);
  is_judged_ = false;
  verdict_.reset();
  route_ = {};
  request_ = {};
  headers_.clear();
  set_deadline(Phase::kIdle, shared_.limits.idle_s);
  while (true) {
    const bool has_changed = feed_reader();
    if (reader_->has_begun() && phase_ == Phase::kIdle) {
      set_deadline(Phase::kReading, shared_.limits.read_s);
    }
    if (reader_->state() == RequestReader::State::kError) {
      const ReadError& error = reader_->error();
      refuse(error.status, "bad_request", error.message);
      co_return true;
    }
    if (reader_->state() != RequestReader::State::kHead && !is_judged_) {
      judge_head();
      if (verdict_ && !keep_alive_) {
        co_return true;
      }
      co_await write_out();
    }
    if (reader_->state() == RequestReader::State::kDone) {
      request_.body = reader_->take_request().body;
      co_return true;
    }
    if (has_changed) {
      continue;
    }
    if (is_at_end_ || is_gone_ ||
        (phase_ == Phase::kIdle && (is_timed_out_ || (is_draining_ && has_served_)))) {
      co_return false;
    }
    if (is_timed_out_) {
      refuse(408, "request_timeout", "the request was not complete in time; send it at once");
      co_return true;
    }
    co_await changed_.wait();
  }
}

asio::awaitable<void> Connection::answer() {
  phase_ = Phase::kAnswering;
  deadline_.reset();
  is_timed_out_ = false;
  if (verdict_) {
    queue_reply(*verdict_);
    if (verdict_->status >= 400 && request_.path != "/ready") {
      record_refusal(verdict_->status);
    }
  } else if (is_at_end_) {  // closed while its request waited behind another
    mark_gone();
  } else {
    start_handler();
  }
  while (!is_gone_) {
    if (!output_.empty()) {
      co_await write_out();
    } else if (is_answering()) {
      co_await changed_.wait();
    } else {
      break;
    }
  }
}

asio::awaitable<void> Connection::write_out() {
  const Phase before = phase_;
  const std::optional<Clock::time_point> deadline_before = deadline_;
  while (!output_.empty() && !is_gone_) {
    const std::string bytes = std::exchange(output_, {});
    for (n_writing_ = bytes.size(); n_writing_ > 0 && !is_gone_;) {
      set_deadline(Phase::kWriting, shared_.limits.write_s);
      const std::string_view rest = std::string_view(bytes).substr(bytes.size() - n_writing_);
      error_code error;
      const size_t n = co_await stream_->write_some(rest.substr(0, kWriteBytes), error);
      if (error) {
        mark_gone();
        break;
      }
      n_writing_ -= n;
    }
  }
  n_writing_ = 0;
  phase_ = before;
  deadline_ = deadline_before;
}

// Waits a little for the client to take the answer and to close: closing over bytes that were not
// read would throw away what it has not received yet.
asio::awaitable<void> Connection::linger() {
  if (is_gone_ || is_at_end_) {
    co_return;
  }
  stream_->end_sending();
  set_deadline(Phase::kLingering, kLingerSeconds);
  input_.clear();
  room_.raise();
  while (!is_at_end_ && !is_timed_out_ && !is_gone_) {
    co_await changed_.wait();
  }
}

void Connection::tick(Clock::time_point now) {
  if (is_streaming_ && is_answering() && output_.empty() && n_writing_ == 0 &&
      now - last_output_ > std::chrono::duration<double>(shared_.limits.comment_s)) {
    queue_stream(": waiting\n\n");
    changed_.raise();
  }
  if (turn_ && now >= turn_->until) {
    const Turn turn = std::move(*turn_);
    turn_.reset();
    turn.late();
  }
  if (!deadline_ || now < *deadline_) {
    return;
  }
  deadline_.reset();
  is_timed_out_ = true;
  if (phase_ == Phase::kHandshake || phase_ == Phase::kWriting) {
    mark_gone();
  }
  changed_.raise();
}

void Connection::drain() {
  is_draining_ = true;
  keep_alive_ = false;
  changed_.raise();
}

void Connection::close() {
  mark_gone();
  stream_->close();
}

// The request is given up, whatever stage it is in. The socket is closed so that a write under way
// ends as well.
void Connection::mark_gone() {
  if (is_gone_) {
    return;
  }
  is_gone_ = true;
  end_exchange();
  if (const std::function<void()> gone = std::exchange(on_gone_, nullptr)) {
    gone();
  }
  turn_.reset();
  stream_->close();
  room_.raise();
  changed_.raise();
}

}  // namespace fathom::api::http
