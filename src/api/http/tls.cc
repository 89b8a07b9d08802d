// The files are read once here, so that a later connection cannot fail for them.
#include "api/http/tls.h"

#include <fmt/format.h>
#include <openssl/ssl.h>

#include "base/error.h"
#include "base/regular_file.h"

namespace fathom::api::http {

namespace {

[[noreturn]] void refuse(const std::string& path, std::string_view what,
                         const boost::system::error_code& error) {
  fail(ErrorCode::kCorruptFile,
       fmt::format("{}: cannot be used as {}: {}; expected PEM", path, what, error.message()));
}

}  // namespace

TlsContext open_tls(const std::string& certificate_path, const std::string& key_path) {
  for (const std::string* path : {&certificate_path, &key_path}) {
    const RegularFile checked(*path);  // OpenSSL would wait for a FIFO
  }
  auto context = std::make_shared<boost::asio::ssl::context>(boost::asio::ssl::context::tls_server);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  SSL_CTX_set_mode(context->native_handle(), SSL_MODE_RELEASE_BUFFERS);  // 34 KiB an idle client
  boost::system::error_code error;
  // Without this a key under a password asks for it at the terminal, also when it is read again.
  context->set_password_callback(
      [](size_t, boost::asio::ssl::context::password_purpose) { return std::string(); }, error);
  context->use_certificate_chain_file(certificate_path, error);
  if (error) {
    refuse(certificate_path, "a chain of certificates", error);
  }
  context->use_private_key_file(key_path, boost::asio::ssl::context::pem, error);
  if (error) {
    refuse(key_path, fmt::format("the private key of {}", certificate_path), error);
  }
  return context;
}

}  // namespace fathom::api::http
