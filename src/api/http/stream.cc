// The only instances of TLS streams, which take long to compile.
// Read next: api/http/connection.h.
#include "api/http/stream.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace fathom::api::http {

namespace asio = boost::asio;
using boost::system::error_code;

struct Stream::Tls {
  TlsContext context;  // lives as long as the stream, whatever a reload brings
  asio::ssl::stream<asio::ip::tcp::socket&> stream;

  Tls(TlsContext given, asio::ip::tcp::socket& socket)
      : context(std::move(given)), stream(socket, *context) {}
};

Stream::Stream(asio::ip::tcp::socket socket, TlsContext tls) : socket_(std::move(socket)) {
  if (tls != nullptr) {
    tls_ = std::make_unique<Tls>(std::move(tls), socket_);
  }
}

Stream::~Stream() = default;

asio::awaitable<void> Stream::handshake(error_code& error) {
  if (tls_ != nullptr) {
    co_await tls_->stream.async_handshake(asio::ssl::stream_base::server,
                                          asio::redirect_error(asio::use_awaitable, error));
  }
}

asio::awaitable<size_t> Stream::read_some(std::span<char> buffer, error_code& error) {
  const asio::mutable_buffer target(buffer.data(), buffer.size());
  if (tls_ != nullptr) {
    co_return co_await tls_->stream.async_read_some(
        target, asio::redirect_error(asio::use_awaitable, error));
  }
  co_return co_await socket_.async_read_some(target,
                                             asio::redirect_error(asio::use_awaitable, error));
}

asio::awaitable<size_t> Stream::write_some(std::string_view bytes, error_code& error) {
  const asio::const_buffer source(bytes.data(), bytes.size());
  if (tls_ != nullptr) {
    co_return co_await tls_->stream.async_write_some(
        source, asio::redirect_error(asio::use_awaitable, error));
  }
  co_return co_await socket_.async_write_some(source,
                                              asio::redirect_error(asio::use_awaitable, error));
}

void Stream::end_sending() {
  error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
}

void Stream::close() {
  error_code ignored;
  socket_.close(ignored);
}

}  // namespace fathom::api::http
