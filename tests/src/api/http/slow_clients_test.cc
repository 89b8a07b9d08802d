// Clients that send a byte now and then, to hold places of others: ended after --read-seconds,
// however much they send, with TLS and without, while others are served.
// Read next: api/http/connection.cc (set_deadline).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "src/api/http/certificate.h"
#include "src/api/http/raw_client.h"
#include "src/api/http/transport_rig.h"
#include "support/temp_folder.h"

namespace fathom::api::http {
namespace {

using test::get;
using test::post;
using test::RawClient;
using Rig = test::TransportRig;
using testing::HasSubstr;
using testing::StartsWith;

constexpr auto kPause = std::chrono::milliseconds(10);

TransportOptions impatient() {
  return {.idle_s = 0.5, .read_s = 0.5};
}

// A client with TLS that believes anything.
class TlsClient {
 public:
  explicit TlsClient(int port)
      : context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free),
        bio_(BIO_new_ssl_connect(context_.get()), BIO_free_all) {
    BIO_set_conn_hostname(bio_.get(), ("127.0.0.1:" + std::to_string(port)).c_str());
    EXPECT_EQ(BIO_do_handshake(bio_.get()), 1);
  }

  void send(std::string_view bytes) const {
    BIO_write(bio_.get(), bytes.data(), static_cast<int>(bytes.size()));
  }

  [[nodiscard]] std::string read_all() const {
    std::string answer;
    char buffer[1024];
    for (int n = 0; (n = BIO_read(bio_.get(), buffer, sizeof buffer)) > 0;) {
      answer.append(buffer, static_cast<size_t>(n));
    }
    return answer;
  }

 private:
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  std::unique_ptr<BIO, decltype(&BIO_free_all)> bio_;
};

// Sends `begin`, then a byte at a time for twice the server's patience; what it is answered.
template <class Client>
std::string trickle(int port, const std::string& begin) {
  Client client(port);
  client.send(begin);
  for (int i = 0; i < 100; ++i) {
    std::this_thread::sleep_for(kPause);
    client.send("a");
  }
  return client.read_all();
}

// The begins of a head, of a header, of a body and of a chunk.
std::vector<std::string> begins() {
  const std::string head = "POST /v1/echo HTTP/1.1\r\nHost: x\r\n";
  return {"GET /", head + "X-Long: ", head + "Content-Length: 100000\r\n\r\n",
          head + "Transfer-Encoding: chunked\r\n\r\nffff\r\n"};
}

// All slow clients at once; others are answered meanwhile.
template <class Client>
void expect_slow_ones_end(const Rig& rig, const auto& ask_meanwhile) {
  std::signal(SIGPIPE, SIG_IGN);
  const std::vector<std::string> texts = begins();
  std::vector<std::string> answers(texts.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < texts.size(); ++i) {
    threads.emplace_back([&, i] { answers[i] = trickle<Client>(rig.port(), texts[i]); });
  }
  for (int i = 0; i < 20; ++i) {
    ask_meanwhile();
    std::this_thread::sleep_for(kPause);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_THAT(answers[i], StartsWith("HTTP/1.1 408")) << texts[i];
    EXPECT_THAT(answers[i], HasSubstr("request_timeout")) << texts[i];
  }
  EXPECT_EQ(rig.handler->n_held(), 0);
}

TEST(SlowClients, AreEnded) {
  const Rig rig(impatient());
  expect_slow_ones_end<RawClient>(rig, [&] {
    RawClient client(rig.port());
    EXPECT_THAT(client.ask(post("/v1/echo", "hello")), HasSubstr("hello"));
  });
}

TEST(SlowClients, AreEndedWithTls) {
  const test::TempFolder folder;
  const test::Pem pem = test::make_pem(1);
  TransportOptions options = impatient();
  options.certificate_path = folder.write("crt", pem.certificate);
  options.key_path = folder.write("key", pem.key);
  const Rig rig(options);
  expect_slow_ones_end<TlsClient>(rig, [&] {
    const TlsClient client(rig.port());
    client.send(get("/health", "Connection: close\r\n"));
    EXPECT_THAT(client.read_all(), StartsWith("HTTP/1.1 200"));
  });
  // A handshake that never ends: its record is announced as longer than what comes.
  EXPECT_EQ(trickle<RawClient>(rig.port(), std::string("\x16\x03\x01\x20\x00\x01", 6)), "");
}

}  // namespace
}  // namespace fathom::api::http
