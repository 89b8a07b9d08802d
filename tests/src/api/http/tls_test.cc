// Files of certificates and keys that are missing, broken, or do not belong together; and a client.
#include "api/http/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <string>

#include "api/http/front.h"
#include "api/http/transport.h"
#include "src/api/http/certificate.h"
#include "src/api/http/raw_client.h"
#include "support/error_check.h"
#include "support/temp_folder.h"

namespace fathom::api::http {
namespace {

using test::make_pem;
using test::Pem;
using testing::HasSubstr;

// What a client with TLS gets for GET /health, and the serial number of the server's certificate.
std::pair<std::string, long> ask(int port) {
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  BIO* bio = BIO_new_ssl_connect(context);
  BIO_set_conn_hostname(bio, ("127.0.0.1:" + std::to_string(port)).c_str());
  EXPECT_EQ(BIO_do_handshake(bio), 1);
  const std::string request = test::get("/health", "Connection: close\r\n");
  BIO_write(bio, request.data(), static_cast<int>(request.size()));
  std::string answer;
  char buffer[1024];
  for (int n = 0; (n = BIO_read(bio, buffer, sizeof buffer)) > 0;) {
    answer.append(buffer, static_cast<size_t>(n));
  }
  SSL* ssl = nullptr;
  BIO_get_ssl(bio, &ssl);
  long serial = -1;
  if (X509* certificate = SSL_get1_peer_certificate(ssl)) {
    serial = ASN1_INTEGER_get(X509_get_serialNumber(certificate));
    X509_free(certificate);
  }
  BIO_free_all(bio);
  SSL_CTX_free(context);
  return {answer, serial};
}

TEST(Tls, RefusesWhatIsNoCertificate) {
  const test::TempFolder folder;
  const Pem one = make_pem(1);
  const Pem two = make_pem(2);
  const std::string certificate = folder.write("one.crt", one.certificate);
  const std::string other_key = folder.write("two.key", two.key);
  const std::string junk = folder.write("junk", "junk");
  test::expect_error([&] { open_tls(folder.path_of("none"), other_key); }, ErrorCode::kNotFound,
                     {"none"});
  const std::string fifo = folder.path_of("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  test::expect_error([&] { open_tls(fifo, other_key); }, ErrorCode::kInvalidArgument, {"FIFO"});
  test::expect_error([&] { open_tls(certificate, fifo); }, ErrorCode::kInvalidArgument, {"FIFO"});
  test::expect_error([&] { open_tls(junk, other_key); }, ErrorCode::kCorruptFile, {"junk"});
  test::expect_error([&] { open_tls(certificate, junk); }, ErrorCode::kCorruptFile, {"junk"});
  test::expect_error([&] { open_tls(certificate, other_key); }, ErrorCode::kCorruptFile,
                     {"two.key", "one.crt"});
  // Under a password: nobody is asked for it.
  const std::string locked = folder.write("locked.key", make_pem(3, "secret").key);
  test::expect_error([&] { open_tls(certificate, locked); }, ErrorCode::kCorruptFile,
                     {"locked.key"});
}

TEST(Tls, ServesAndReloads) {
  const test::TempFolder folder;
  const Pem one = make_pem(1);
  TransportOptions options{.port = 0,
                           .certificate_path = folder.write("crt", one.certificate),
                           .key_path = folder.write("key", one.key)};
  Front front({});
  Transport transport(options, front, nullptr);
  transport.start();
  const auto [answer, serial] = ask(transport.port());
  EXPECT_THAT(answer, HasSubstr(R"({"status":"ok"})"));
  EXPECT_EQ(serial, 1);

  const Pem two = make_pem(2);
  folder.write("crt", two.certificate);
  test::expect_error([&] { transport.reload_tls(); }, ErrorCode::kCorruptFile, {"key"});
  EXPECT_EQ(ask(transport.port()).second, 1);  // the old pair stays
  folder.write("key", two.key);
  transport.reload_tls();
  EXPECT_EQ(ask(transport.port()).second, 2);

  test::RawClient plain(transport.port());  // without TLS: closed
  plain.send(test::get("/health"));
  EXPECT_THAT(plain.read_all(), testing::Not(HasSubstr("200 OK")));
}

}  // namespace
}  // namespace fathom::api::http
