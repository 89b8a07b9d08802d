// A blocking connection to a server, plain or with TLS.
// Called by api/load_client. Read next: load_socket.cc.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace fathom::api {

// Whom a client believes; may be shared by threads.
using LoadTrust = std::shared_ptr<ssl_ctx_st>;

// Certificates must lead to one in `ca_path` (PEM), or where it is empty, to one that the system
// trusts, and name the host that was asked for; `insecure`: any certificate will do. Errors:
// kNotFound, kCorruptFile for `ca_path`.
LoadTrust open_trust(const std::string& ca_path, bool insecure);

class LoadSocket {
 public:
  // Connects; with TLS where `trust` is not null. Error: kPeerLost: no such host, nobody there, a
  // certificate that is not trusted.
  LoadSocket(const std::string& host, int port, const LoadTrust& trust);
  ~LoadSocket();
  LoadSocket(const LoadSocket&) = delete;
  LoadSocket& operator=(const LoadSocket&) = delete;

  // Error: kPeerLost.
  void send(std::string_view bytes);

  // Bytes in `buffer`; empty: the connection has ended, or was silent for ten minutes. Error:
  // kPeerLost for bytes that are no TLS.
  std::string_view receive(std::vector<char>& buffer);

 private:
  class Tls;

  void open(const std::string& host, int port);

  int fd_ = -1;
  std::unique_ptr<Tls> tls_;
};

}  // namespace fathom::api
