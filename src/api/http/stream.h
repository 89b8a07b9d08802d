// A connected socket, plain or with TLS around it, behind one pair of read and write.
// Called by api/http/connection. Read next: stream.cc, api/http/tls.h.
#pragma once

#include <utility>
//
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <span>
#include <string_view>

namespace fathom::api::http {

using TlsContext = std::shared_ptr<boost::asio::ssl::context>;

// One read and one write may be under way at a time, on the transport's thread.
class Stream {
 public:
  // Without TLS when `tls` is null.
  Stream(boost::asio::ip::tcp::socket socket, TlsContext tls);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Agrees on a cipher; at once without TLS.
  boost::asio::awaitable<void> handshake(boost::system::error_code& error);

  // At least one byte, or an error.
  boost::asio::awaitable<size_t> read_some(std::span<char> buffer,
                                           boost::system::error_code& error);
  boost::asio::awaitable<size_t> write_some(std::string_view bytes,
                                            boost::system::error_code& error);

  // Tells the peer that nothing more comes; reading goes on.
  void end_sending();

  // Reads and writes under way end with an error.
  void close();

 private:
  struct Tls;

  boost::asio::ip::tcp::socket socket_;
  std::unique_ptr<Tls> tls_;
};

}  // namespace fathom::api::http
