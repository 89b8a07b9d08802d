// Everything but the constructor and the public functions runs on the one thread.
// Read next: api/http/connection.cc.
#include "api/http/transport.h"

#include <fmt/format.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "api/http/answers.h"
#include "api/http/connection.h"
#include "api/http/tls.h"
#include "base/error.h"
#include "base/log.h"
#include "base/thread_name.h"

namespace fathom::api::http {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr auto kTick = std::chrono::milliseconds(100);

std::string address_text(const tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  return endpoint.address().is_v6() ? fmt::format("[{}]:{}", address, endpoint.port())
                                    : fmt::format("{}:{}", address, endpoint.port());
}

ConnectionLimits limits_of(const TransportOptions& options) {
  return {.read = {.head_bytes = options.max_head_bytes, .body_bytes = options.max_body_bytes},
          .idle_s = options.idle_s,
          .read_s = options.read_s,
          .write_s = options.write_s,
          .comment_s = options.comment_s,
          .buffer_bytes = options.max_buffer_bytes};
}

}  // namespace

struct Transport::Parts : std::enable_shared_from_this<Transport::Parts> {
  TransportOptions options;
  std::shared_ptr<asio::io_context> io = std::make_shared<asio::io_context>(1);
  KeyGate gate;
  ConnectionShared shared;
  std::vector<tcp::acceptor> acceptors;
  std::vector<std::string> addresses;
  asio::steady_timer timer{*io};
  std::set<std::shared_ptr<Connection>> connections;
  std::thread thread;
  std::mutex tls_mutex;
  TlsContext tls;
  bool is_draining = false;
  bool is_stopping = false;
  std::atomic<int64_t> n_connections = 0;
  std::atomic<uint64_t> heartbeat = 0;

  Parts(const TransportOptions& given, Front& front, RecordSink* records);
  void bind();
  void post(std::function<void()> work);
  asio::awaitable<void> accept_loop(tcp::acceptor& acceptor);
  asio::awaitable<void> tick_loop();
  asio::awaitable<void> serve(std::shared_ptr<Connection> connection);
  void admit(tcp::socket socket);
  void for_each(void (Connection::*action)());
};

Transport::Parts::Parts(const TransportOptions& given, Front& front, RecordSink* records)
    : options(given),
      gate(given.max_running_per_key, given.max_queued_per_key, given.max_waiting),
      shared{.front = front,
             .gate = gate,
             .records = records,
             .limits = limits_of(given),
             .post = [weak = std::weak_ptr(io)](std::function<void()> work) {
               if (const auto alive = weak.lock()) {
                 asio::post(*alive, std::move(work));
               }
             }} {}

void Transport::Parts::post(std::function<void()> work) {
  asio::post(*io, std::move(work));
}

void Transport::Parts::bind() {
  error_code error;
  tcp::resolver resolver(*io);
  const auto found =
      resolver.resolve(options.host, std::to_string(options.port), tcp::resolver::passive, error);
  if (error || found.empty()) {
    fail(ErrorCode::kInvalidArgument,
         fmt::format("--host {}: names no address ({}); expected an address such as 127.0.0.1, or "
                     "0.0.0.0 for all",
                     options.host, error.message()));
  }
  std::string failure;  // of the last address
  for (const auto& entry : found) {
    tcp::endpoint endpoint = entry.endpoint();
    if (options.port == 0 && !acceptors.empty()) {
      endpoint.port(acceptors.front().local_endpoint().port());
    }
    tcp::acceptor acceptor(*io);
    acceptor.open(endpoint.protocol(), error);
    const auto then = [&](auto&& action) {
      if (!error) {
        action();
      }
    };
    then([&] { acceptor.set_option(tcp::acceptor::reuse_address(true), error); });
    if (endpoint.address().is_v6()) {
      then([&] { acceptor.set_option(asio::ip::v6_only(true), error); });
    }
    then([&] { acceptor.bind(endpoint, error); });
    then([&] { acceptor.listen(asio::socket_base::max_listen_connections, error); });
    if (error) {
      failure = fmt::format("cannot listen on {}: {}; another --port or --host may be free",
                            address_text(endpoint), error.message());
      if (error == asio::error::address_family_not_supported ||
          error == boost::system::errc::address_not_available) {
        continue;  // a name may have addresses of a kind that this machine does not
      }
      break;
    }
    addresses.push_back(address_text(acceptor.local_endpoint()));
    acceptors.push_back(std::move(acceptor));
    failure.clear();
  }
  if (acceptors.empty() || !failure.empty()) {
    fail(ErrorCode::kInvalidArgument, failure);
  }
}

void Transport::Parts::for_each(void (Connection::*action)()) {
  const auto all = connections;  // an action may end one
  for (const std::shared_ptr<Connection>& connection : all) {
    (connection.get()->*action)();
  }
}

asio::awaitable<void> Transport::Parts::serve(std::shared_ptr<Connection> connection) {
  try {
    co_await connection->run();
  } catch (const std::exception& error) {
    warn(fmt::format("a connection failed: {}", error.what()));
  }
  connection->close();
  connections.erase(connection);
  n_connections.store(std::ssize(connections));
}

void Transport::Parts::admit(tcp::socket socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  socket.set_option(asio::socket_base::send_buffer_size(options.send_buffer_bytes), ignored);
  TlsContext context;
  {
    const std::lock_guard lock(tls_mutex);
    context = tls;
  }
  if (std::ssize(connections) >= options.max_connections) {
    if (context == nullptr) {  // few bytes: they fit into the socket's buffer, or are lost
      Response response = error_response(503, "too_many_connections",
                                         "the server has as many connections as it may; try later");
      response.headers.emplace_back("Retry-After", "1");
      const std::string text = head_text(response, {}, {.keep_alive = false}) + response.body;
      socket.non_blocking(true, ignored);
      socket.write_some(asio::buffer(text), ignored);
    }
    return;
  }
  auto connection = std::make_shared<Connection>(
      *io, std::make_unique<Stream>(std::move(socket), std::move(context)), shared);
  if (is_draining) {
    connection->drain();
  }
  connections.insert(connection);
  n_connections.store(std::ssize(connections));
  asio::co_spawn(*io, serve(std::move(connection)), asio::detached);
}

asio::awaitable<void> Transport::Parts::accept_loop(tcp::acceptor& acceptor) {
  while (!is_stopping) {
    error_code error;
    tcp::socket socket(*io);
    co_await acceptor.async_accept(socket, asio::redirect_error(asio::use_awaitable, error));
    if (!error) {
      admit(std::move(socket));
    } else if (error == asio::error::operation_aborted) {
      co_return;
    } else {  // no descriptors left, most likely: clients wait in the queue of the kernel
      asio::steady_timer pause(*io, kTick);
      co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
    }
  }
}

asio::awaitable<void> Transport::Parts::tick_loop() {
  while (!is_stopping) {
    timer.expires_after(kTick);
    error_code error;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
    heartbeat.fetch_add(1);
    const auto now = Connection::Clock::now();
    const auto all = connections;
    for (const std::shared_ptr<Connection>& connection : all) {
      connection->tick(now);
    }
  }
}

Transport::Transport(const TransportOptions& options, Front& front, RecordSink* records)
    : parts_(std::make_shared<Parts>(options, front, records)) {
  if (!options.certificate_path.empty()) {
    parts_->tls = open_tls(options.certificate_path, options.key_path);
  }
  parts_->bind();
}

Transport::~Transport() {
  stop();
}

void Transport::start() {
  Parts& parts = *parts_;
  for (tcp::acceptor& acceptor : parts.acceptors) {
    asio::co_spawn(*parts.io, parts.accept_loop(acceptor), asio::detached);
  }
  asio::co_spawn(*parts.io, parts.tick_loop(), asio::detached);
  parts.thread = std::thread([&parts] {
    name_this_thread("fathom-http");
    parts.io->run();
  });
}

const std::vector<std::string>& Transport::addresses() const {
  return parts_->addresses;
}

int Transport::port() const {
  return parts_->acceptors.front().local_endpoint().port();
}

bool Transport::is_loopback() const {
  for (const tcp::acceptor& acceptor : parts_->acceptors) {
    if (!acceptor.local_endpoint().address().is_loopback()) {
      return false;
    }
  }
  return true;
}

void Transport::reload_tls() {
  if (!parts_->options.certificate_path.empty()) {
    TlsContext context = open_tls(parts_->options.certificate_path, parts_->options.key_path);
    const std::lock_guard lock(parts_->tls_mutex);
    parts_->tls = std::move(context);
  }
}

void Transport::drain() {
  parts_->post([parts = parts_.get()] {
    parts->is_draining = true;
    parts->for_each(&Connection::drain);
  });
}

void Transport::cut() {
  parts_->post([parts = parts_.get()] { parts->for_each(&Connection::cut); });
}

void Transport::stop() {
  Parts& parts = *parts_;
  if (!parts.thread.joinable()) {
    return;
  }
  parts.post([&parts] {
    parts.is_stopping = true;
    for (tcp::acceptor& acceptor : parts.acceptors) {
      error_code ignored;
      acceptor.close(ignored);
    }
    parts.for_each(&Connection::close);
    parts.timer.cancel();
  });
  parts.thread.join();  // run() returns when the last connection has ended
}

int64_t Transport::n_exchanges() const {
  return parts_->shared.n_exchanges.load();
}

int64_t Transport::n_connections() const {
  return parts_->n_connections.load();
}

uint64_t Transport::heartbeat() const {
  return parts_->heartbeat.load();
}

}  // namespace fathom::api::http
