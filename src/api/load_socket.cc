// TLS works on buffers in memory, so that the socket is used in one way only.
// Read next: api/load_client.cc.
#include "api/load_socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/regular_file.h"

namespace fathom::api {

namespace {

constexpr int kTimeoutSeconds = 600;  // of silence

void send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) {
      fail(ErrorCode::kPeerLost, "the connection was closed while the request was sent");
    }
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

size_t receive_some(int fd, char* data, size_t size) {
  return static_cast<size_t>(std::max<ssize_t>(::recv(fd, data, size, 0), 0));
}

// What OpenSSL says went wrong last in this thread.
std::string last_reason() {
  const unsigned long code = ERR_get_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "the connection was closed" : reason;
}

bool is_address(const std::string& host) {
  in6_addr ignored{};
  return ::inet_pton(AF_INET, host.c_str(), &ignored) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &ignored) == 1;
}

}  // namespace

LoadTrust open_trust(const std::string& ca_path, bool insecure) {
  LoadTrust trust(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  if (trust == nullptr) {
    fail(ErrorCode::kInternal, fmt::format("TLS cannot be used: {}", last_reason()));
  }
  SSL_CTX_set_min_proto_version(trust.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(trust.get(), insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
  if (ca_path.empty()) {
    SSL_CTX_set_default_verify_paths(trust.get());
    return trust;
  }
  const RegularFile checked(ca_path);  // OpenSSL would wait for a FIFO
  ERR_clear_error();
  if (SSL_CTX_load_verify_locations(trust.get(), ca_path.c_str(), nullptr) != 1) {
    fail(ErrorCode::kCorruptFile,
         fmt::format("{}: cannot be used as certificates: {}; expected PEM", ca_path,
                     last_reason()));
  }
  return trust;
}

// One connection's side of TLS. The two BIOs belong to `ssl_`.
class LoadSocket::Tls {
 public:
  Tls(int fd, const std::string& host, LoadTrust trust)
      : fd_(fd),
        trust_(std::move(trust)),
        ssl_(SSL_new(trust_.get())),
        in_(BIO_new(BIO_s_mem())),
        out_(BIO_new(BIO_s_mem())) {
    SSL_set_bio(ssl_, in_, out_);
    if (is_address(host)) {
      X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_), host.c_str());
    } else {
      // The macro for this has a cast of C's.
      SSL_ctrl(ssl_, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
               const_cast<char*>(host.c_str()));
      SSL_set1_host(ssl_, host.c_str());
    }
  }

  ~Tls() { SSL_free(ssl_); }

  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  void agree(const std::string& where) {
    try {
      if (run([this] { return SSL_connect(ssl_); }) > 0) {
        return;
      }
    } catch (const Error& error) {
      const long verdict = SSL_get_verify_result(ssl_);
      if (verdict == X509_V_OK || SSL_get_verify_mode(ssl_) == SSL_VERIFY_NONE) {
        fail(ErrorCode::kPeerLost, fmt::format("{}: no TLS: {}", where, error.what()));
      }
      fail(ErrorCode::kPeerLost,
           fmt::format("{}: its certificate is not trusted: {}; --ca-file FILE names one that "
                       "counts, --insecure takes any",
                       where, X509_verify_cert_error_string(verdict)));
    }
    fail(ErrorCode::kPeerLost, fmt::format("{}: no TLS: the connection was closed", where));
  }

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const int size = clamp_size(bytes.size());
      const int n = run([&] { return SSL_write(ssl_, bytes.data(), size); });
      if (n <= 0) {
        fail(ErrorCode::kPeerLost, "the connection was closed while the request was sent");
      }
      bytes.remove_prefix(static_cast<size_t>(n));
    }
  }

  size_t read(char* data, size_t size) {
    return static_cast<size_t>(
        std::max(0, run([&] { return SSL_read(ssl_, data, clamp_size(size)); })));
  }

 private:
  static int clamp_size(size_t size) {
    return static_cast<int>(std::min<size_t>(size, std::numeric_limits<int>::max()));
  }

  void flush() {
    std::array<char, 16384> buffer;
    for (int n = 0; (n = BIO_read(out_, buffer.data(), clamp_size(buffer.size()))) > 0;) {
      send_all(fd_, {buffer.data(), static_cast<size_t>(n)});
    }
  }

  // Gives OpenSSL what it asks for until `action` is done. 0: the connection has ended.
  template <class Action>
  int run(const Action& action) {
    while (true) {
      ERR_clear_error();
      const int n = action();
      const int error = n > 0 ? SSL_ERROR_NONE : SSL_get_error(ssl_, n);
      const std::string reason = error == SSL_ERROR_SSL ? last_reason() : std::string();
      flush();
      if (error == SSL_ERROR_NONE) {
        return n;
      }
      if (error == SSL_ERROR_SSL) {
        fail(ErrorCode::kPeerLost, reason);
      }
      std::array<char, 16384> buffer;
      const size_t got =
          error == SSL_ERROR_WANT_READ ? receive_some(fd_, buffer.data(), buffer.size()) : 0;
      if (got == 0) {
        return 0;
      }
      BIO_write(in_, buffer.data(), static_cast<int>(got));
    }
  }

  int fd_;
  LoadTrust trust_;
  SSL* ssl_;
  BIO* in_;
  BIO* out_;
};

void LoadSocket::open(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    fail(ErrorCode::kPeerLost, fmt::format("{}: no such host", host));
  }
  int error = 0;
  for (const addrinfo* at = found; at != nullptr && fd_ < 0; at = at->ai_next) {
    fd_ = ::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
    if (fd_ >= 0 && ::connect(fd_, at->ai_addr, at->ai_addrlen) != 0) {
      error = errno;
      ::close(std::exchange(fd_, -1));
    }
  }
  ::freeaddrinfo(found);
  if (fd_ < 0) {
    fail(ErrorCode::kPeerLost,
         fmt::format("{}:{}: cannot connect: {}", host, port, std::strerror(error)));
  }
  const int one = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  const timeval timeout{.tv_sec = kTimeoutSeconds, .tv_usec = 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
}

LoadSocket::LoadSocket(const std::string& host, int port, const LoadTrust& trust) {
  open(host, port);
  if (trust == nullptr) {
    return;
  }
  try {
    tls_ = std::make_unique<Tls>(fd_, host, trust);
    tls_->agree(fmt::format("{}:{}", host, port));
  } catch (...) {  // there is no destructor yet to do it
    ::close(fd_);
    throw;
  }
}

LoadSocket::~LoadSocket() {
  ::close(fd_);
}

void LoadSocket::send(std::string_view bytes) {
  if (tls_ != nullptr) {
    tls_->write(bytes);
  } else {
    send_all(fd_, bytes);
  }
}

std::string_view LoadSocket::receive(std::vector<char>& buffer) {
  const size_t n = tls_ != nullptr ? tls_->read(buffer.data(), buffer.size())
                                   : receive_some(fd_, buffer.data(), buffer.size());
  return {buffer.data(), n};
}

}  // namespace fathom::api
