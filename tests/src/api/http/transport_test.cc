// Real sockets against a transport with a handler that the test plays: whole requests and half
// ones, clients that vanish at every stage, slow readers, limits, the end.
#include "api/http/transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "api/http/front.h"
#include "src/api/http/raw_client.h"
#include "src/api/http/transport_rig.h"

namespace fathom::api::http {
namespace {

using test::Flag;
using test::get;
using test::HeldRequest;
using test::post;
using test::RawClient;
using Rig = test::TransportRig;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Transport, AnswersByItself) {
  const Rig rig;
  RawClient client(rig.port());
  EXPECT_THAT(client.ask(get("/health")), HasSubstr(R"({"status":"ok"})"));
  EXPECT_THAT(client.ask(get("/ready")), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(client.ask(get("/version")), HasSubstr(R"({"version":"1"})"));
  EXPECT_THAT(client.ask(get("/metrics")), HasSubstr("fathom_up 1\n"));
  EXPECT_THAT(client.ask(get("/nowhere")), HasSubstr(R"("code":"unknown_url")"));
  for (const char* file : {"/../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd"}) {
    EXPECT_THAT(client.ask(get(file)), StartsWith("HTTP/1.1 404"));  // no files are served
  }
  EXPECT_THAT(client.ask(get("/v1/echo")), HasSubstr("Allow: POST\r\n"));
  EXPECT_EQ(rig.transport->n_connections(), 1);
}

TEST(Transport, KeepsTheConnectionAndTheOrder) {
  const Rig rig;
  RawClient client(rig.port());
  client.send(post("/v1/echo", "one") + get("/v1/models/m") + post("/v1/stream", "") +
              post("/v1/echo", "two", "Connection: close\r\n"));
  EXPECT_THAT(client.read_answer(), HasSubstr("\r\n\r\none"));
  EXPECT_THAT(client.read_answer(), HasSubstr("\r\n\r\n/m"));
  const std::string stream = client.read_until("0\r\n\r\n");
  EXPECT_THAT(stream, HasSubstr("Transfer-Encoding: chunked\r\n"));
  EXPECT_THAT(stream, HasSubstr("Content-Type: text/event-stream\r\n"));
  EXPECT_THAT(stream, HasSubstr("9\r\ndata: 1\n\n\r\n"));
  EXPECT_THAT(stream, HasSubstr("data: [DONE]\n\n"));
  const std::string last = client.read_all();
  EXPECT_THAT(last, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(last, HasSubstr("\r\n\r\ntwo"));
}

TEST(Transport, TakesRequestsInAnyCut) {
  const Rig rig;
  RawClient client(rig.port());
  const std::string request = post("/v1/echo", "hello");
  for (const size_t cut : {size_t{1}, size_t{10}, request.size() - 1}) {
    client.send(request.substr(0, cut));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    client.send(request.substr(cut));
    EXPECT_THAT(client.read_answer(), HasSubstr("\r\n\r\nhello"));
  }
}

TEST(Transport, StreamsToOldClientsUntilTheEnd) {
  const Rig rig;
  RawClient client(rig.port());
  client.send("POST /v1/stream HTTP/1.0\r\nContent-Length: 0\r\n\r\n");
  const std::string answer = client.read_all();
  EXPECT_THAT(answer, Not(HasSubstr("chunked")));
  EXPECT_THAT(answer, HasSubstr("\r\n\r\ndata: 1\n\ndata: [DONE]\n\n"));
}

TEST(Transport, GivesAndTakesRequestIds) {
  Rig rig;
  RawClient client(rig.port());
  EXPECT_THAT(client.ask(get("/health")), HasSubstr("X-Request-Id: req-"));
  EXPECT_THAT(client.ask(get("/health", "x-request-id: mine 7\r\n")),
              HasSubstr("X-Request-Id: mine 7\r\n"));
  EXPECT_THAT(client.ask(get("/health", "X-Request-Id: " + std::string(200, 'a') + "\r\n")),
              HasSubstr("X-Request-Id: req-"));
  client.send(post("/v1/held", "", "X-Request-Id: there\r\n"));
  const HeldRequest held = rig.handler->take();
  EXPECT_EQ(held.request.id, "there");
  held.responder->reply({});
  EXPECT_THAT(client.read_answer(), HasSubstr("X-Request-Id: there\r\n"));
}

TEST(Transport, SaysContinueBeforeABody) {
  const Rig rig;
  RawClient client(rig.port());
  client.send(
      "POST /v1/echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("ab");
  EXPECT_THAT(client.read_answer(), HasSubstr("\r\n\r\nab"));
  // A refusal comes at once, and the body is not waited for.
  client.send(
      "POST /none HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_THAT(client.read_all(), StartsWith("HTTP/1.1 404"));
}

TEST(Transport, RefusesWhatIsTooLongOrNoHttp) {  // C29
  const Rig rig({.max_head_bytes = 512, .max_body_bytes = 100});
  const auto answer_to = [&](const std::string& request) {
    RawClient client(rig.port());
    client.send(request);
    return client.read_all();
  };
  EXPECT_THAT(answer_to(get("/" + std::string(1000, 'a'))), StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(answer_to(post("/v1/echo", std::string(101, 'a'))), StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(answer_to("POST /v1/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1073741824\r\n\r\n"),
              StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(answer_to("\x16\x03\x01 garbage\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  RawClient client(rig.port());
  EXPECT_THAT(client.ask(post("/v1/echo", std::string(100, 'a'))), HasSubstr("aaaa"));
}

TEST(Transport, EndsHalfRequests) {
  const Rig rig({.idle_s = 0.2, .read_s = 0.2});
  RawClient idle(rig.port());
  EXPECT_EQ(idle.read_all(), "");
  RawClient half_head(rig.port());
  half_head.send("GET /health HT");
  EXPECT_THAT(half_head.read_all(), StartsWith("HTTP/1.1 408"));
  RawClient half_body(rig.port());
  half_body.send("POST /v1/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_THAT(half_body.read_all(), StartsWith("HTTP/1.1 408"));
}

TEST(Transport, TellsTheHandlerWhenTheClientIsGone) {  // C23
  Rig rig;
  // Without an answer, within a stream, by a reset.
  for (const int way : {0, 1, 2}) {
    Flag gone;
    RawClient client(rig.port());
    client.send(post("/v1/held", "x"));
    const HeldRequest held = rig.handler->take();
    held.responder->on_gone([&] { gone.raise(); });
    if (way == 1) {
      held.responder->begin_stream({});
      held.responder->send("data: 1\n\n");
      client.read_until("data: 1\n\n");
    }
    EXPECT_EQ(gone.n_raised(), 0);
    if (way == 2) {
      client.reset();
    } else {
      client.close();
    }
    EXPECT_TRUE(gone.wait()) << way;
    held.responder->send("data: 2\n\n");
    held.responder->end_stream();
    const auto late = std::make_shared<Flag>();  // asked for when it is too late
    held.responder->on_gone([late] { late->raise(); });
    rig.wait_for_rest();
    EXPECT_EQ(gone.n_raised(), 1);
  }
}

TEST(Transport, TellsAtOnceWhenTheClientWasGoneBefore) {
  Rig rig;
  auto client = std::make_unique<RawClient>(rig.port());
  client->send(post("/v1/held", "x"));
  const HeldRequest held = rig.handler->take();
  client.reset();
  rig.wait_for_rest();
  Flag gone;
  held.responder->on_gone([&] { gone.raise(); });
  EXPECT_TRUE(gone.wait());
}

TEST(Transport, EndsASlowReader) {  // C25
  Rig rig({.max_buffer_bytes = 64 << 10, .send_buffer_bytes = 4096, .write_s = 60});
  RawClient slow(rig.port(), 4096);
  slow.send(post("/v1/held", ""));
  const HeldRequest held = rig.handler->take();
  Flag gone;
  held.responder->on_gone([&] { gone.raise(); });
  held.responder->begin_stream({});
  const std::string event = "data: " + std::string(1000, 'x') + "\n\n";
  int n_sent = 0;
  RawClient other(rig.port());
  for (; gone.n_raised() == 0 && n_sent < 10000; ++n_sent) {
    held.responder->send(event);
    if (n_sent % 10 == 0) {  // neighbours are served meanwhile
      EXPECT_THAT(other.ask(post("/v1/echo", "x")), StartsWith("HTTP/1.1 200"));
    }
  }
  EXPECT_EQ(gone.n_raised(), 1);
  EXPECT_LT(n_sent, 9000);
  rig.wait_for_rest();
}

TEST(Transport, EndsAReaderThatTakesNothing) {
  Rig rig({.send_buffer_bytes = 4096, .write_s = 0.2});
  RawClient client(rig.port(), 4096);
  client.send(post("/v1/held", ""));
  const HeldRequest held = rig.handler->take();
  Flag gone;
  held.responder->on_gone([&] { gone.raise(); });
  held.responder->begin_stream({});
  held.responder->send(std::string(1 << 20, 'x'));
  EXPECT_TRUE(gone.wait());
}

TEST(Transport, TakesALargeAnswerWhole) {
  Rig rig({.max_buffer_bytes = 1000, .send_buffer_bytes = 4096});
  RawClient client(rig.port());
  client.send(post("/v1/held", ""));
  const HeldRequest held = rig.handler->take();
  held.responder->reply({.body = std::string(3 << 20, 'x')});
  EXPECT_GT(client.read_answer().size(), size_t{3} << 20);
}

TEST(Transport, WritesCommentsIntoSilentStreams) {
  Rig rig({.comment_s = 0.05});
  RawClient client(rig.port());
  client.send(post("/v1/held", ""));
  const HeldRequest held = rig.handler->take();
  held.responder->begin_stream({});
  client.read_until(": waiting\n\n");
  client.read_until(": waiting\n\n");
  held.responder->send("data: 1\n\n");
  held.responder->end_stream();
  client.read_until("0\r\n\r\n");
}

TEST(Transport, AnswersForAHandlerThatDoesNot) {
  Rig rig;
  RawClient client(rig.port());
  EXPECT_THAT(client.ask(post("/v1/throw", "")), HasSubstr(R"("code":"internal_error")"));
  client.send(post("/v1/held", ""));
  rig.handler->take();  // and nobody answers
  EXPECT_THAT(client.read_answer(), StartsWith("HTTP/1.1 500"));
  EXPECT_THAT(client.ask(post("/v1/echo", "x")), StartsWith("HTTP/1.1 200"));
  client.send(post("/v1/held", ""));
  rig.handler->take().responder->begin_stream({});
  EXPECT_THAT(client.read_all(), Not(HasSubstr("0\r\n\r\n")));  // cut, and so not taken for whole
}

TEST(Transport, LimitsTheNumberOfConnections) {
  const Rig rig({.max_connections = 2});
  RawClient one(rig.port());
  auto two = std::make_unique<RawClient>(rig.port());
  EXPECT_THAT(one.ask(get("/health")), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(two->ask(get("/health")), StartsWith("HTTP/1.1 200"));
  RawClient three(rig.port());
  EXPECT_THAT(three.read_all(), StartsWith("HTTP/1.1 503"));
  two.reset();
  while (rig.transport->n_connections() > 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  RawClient four(rig.port());
  EXPECT_THAT(four.ask(get("/health")), StartsWith("HTTP/1.1 200"));
}

TEST(Transport, LetsPagesOfAllowedOriginsIn) {
  const Rig rig;
  RawClient client(rig.port());
  const std::string asked = "Access-Control-Request-Method: POST\r\n";
  const std::string allowed =
      client.ask("OPTIONS /v1/echo HTTP/1.1\r\nHost: x\r\nOrigin: http://page\r\n" + asked +
                 "Access-Control-Request-Headers: x-a\r\n\r\n");
  EXPECT_THAT(allowed, StartsWith("HTTP/1.1 204"));
  EXPECT_THAT(allowed, HasSubstr("Access-Control-Allow-Origin: http://page\r\n"));
  EXPECT_THAT(allowed, HasSubstr("Access-Control-Allow-Headers: x-a\r\n"));
  EXPECT_THAT(client.ask("OPTIONS /v1/echo HTTP/1.1\r\nHost: x\r\nOrigin: http://evil\r\n" + asked +
                         "\r\n"),
              StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(client.ask(get("/health", "Origin: http://page\r\n")),
              HasSubstr("Access-Control-Allow-Origin: http://page\r\n"));
  EXPECT_THAT(client.ask(get("/health", "Origin: http://evil\r\n")),
              Not(HasSubstr("Access-Control-Allow-Origin")));
}

TEST(Transport, DrainsAndCuts) {
  Rig rig;
  RawClient idle(rig.port());
  EXPECT_THAT(idle.ask(get("/health")), StartsWith("HTTP/1.1 200"));
  RawClient whole(rig.port());
  whole.send(post("/v1/held", ""));
  const HeldRequest first = rig.handler->take();
  RawClient streaming(rig.port());
  streaming.send(post("/v1/held", ""));
  const HeldRequest second = rig.handler->take();
  second.responder->begin_stream({});
  RawClient waiting(rig.port());
  waiting.send(post("/v1/held", ""));
  const HeldRequest third = rig.handler->take();
  Flag gone_second, gone_third;
  second.responder->on_gone([&] { gone_second.raise(); });
  third.responder->on_gone([&] { gone_third.raise(); });

  rig.front.set_stage(Stage::kDraining);
  rig.transport->drain();
  EXPECT_EQ(idle.read_all(), "");
  RawClient late(rig.port());
  late.send(post("/v1/echo", "x"));
  const std::string refused = late.read_all();
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(refused, HasSubstr("Retry-After: "));
  first.responder->reply({.body = "done"});
  EXPECT_THAT(whole.read_all(), HasSubstr("done"));

  rig.transport->cut();
  EXPECT_TRUE(gone_second.wait());
  EXPECT_TRUE(gone_third.wait());
  const std::string stream = streaming.read_all();
  EXPECT_THAT(stream, HasSubstr(R"(data: {"error":)"));
  EXPECT_THAT(stream, HasSubstr("0\r\n\r\n"));
  EXPECT_THAT(waiting.read_all(), StartsWith("HTTP/1.1 503"));
  rig.wait_for_rest();
}

TEST(Transport, StopsWithRequestsUnderWay) {
  auto rig = std::make_unique<Rig>();
  RawClient client(rig->port());
  client.send(post("/v1/held", ""));
  const HeldRequest held = rig->handler->take();
  Flag gone;
  held.responder->on_gone([&] { gone.raise(); });
  rig.reset();
  EXPECT_EQ(gone.n_raised(), 1);
  held.responder->reply({});  // to nobody
  EXPECT_EQ(client.read_all(), "");
}

TEST(Transport, RefusesAnAddressThatIsTaken) {
  const Rig rig;
  Front front({});
  TransportOptions options;
  options.port = rig.port();
  EXPECT_THROW(Transport(options, front, nullptr), std::exception);
  options.host = "no.such.host.invalid";
  EXPECT_THROW(Transport(options, front, nullptr), std::exception);
}

int64_t resident_kib() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word && word != "VmRSS:") {
  }
  int64_t kib = 0;
  status >> kib;
  return kib;
}

int64_t n_descriptors() {
  int64_t n = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++n;
  }
  return n;
}

bool is_sanitized() {
#ifdef FATHOM_SANITIZED
  return true;
#else
  return false;
#endif
}

// Each kind of end, over and over: memory and descriptors stay where they were.
TEST(Transport, HoldsItsMemoryAndDescriptors) {  // C23
  Rig rig;
  RawClient kept(rig.port());
  const auto serve = [&](int n) {
    for (int i = 0; i < n; ++i) {
      EXPECT_THAT(kept.ask(post("/v1/echo", "x")), StartsWith("HTTP/1.1 200"));
      kept.send(post("/v1/stream", ""));
      kept.read_until("0\r\n\r\n");
      RawClient vanishing(rig.port());
      vanishing.send(i % 2 == 0 ? post("/v1/held", "x") : "POST /v1/echo HTTP/1.1\r\nContent-Le");
      if (i % 2 == 0) {
        rig.handler->take();
      }
    }
    while (rig.transport->n_connections() > 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  };
  serve(200);
  const int64_t memory = resident_kib();
  const int64_t descriptors = n_descriptors();
  serve(700);  // 2,100 requests
  if (!is_sanitized()) {
    EXPECT_LT(resident_kib() - memory, 1024);
  }
  EXPECT_EQ(n_descriptors(), descriptors);
}

TEST(Transport, IdleConnectionsAreCheap) {
  const Rig rig({.max_connections = 2000});
  std::vector<std::unique_ptr<RawClient>> clients;
  const int64_t before = resident_kib();
  for (int i = 0; i < 300; ++i) {
    clients.push_back(std::make_unique<RawClient>(rig.port()));
    EXPECT_THAT(clients.back()->ask(get("/health")), StartsWith("HTTP/1.1 200"));
  }
  if (!is_sanitized()) {
    EXPECT_LT((resident_kib() - before) * 1024, 300 * 50'000);  // 1,000 in 50 MiB
  }
  EXPECT_EQ(rig.transport->n_connections(), 300);
}

}  // namespace
}  // namespace fathom::api::http
