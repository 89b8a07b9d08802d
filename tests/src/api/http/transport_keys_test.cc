// API keys over real sockets: who is let in, whose requests wait for others of the same key, and
// who is told from the head of a request that there is no place.
// Read next: api/http/key_gate.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "src/api/http/raw_client.h"
#include "src/api/http/transport_rig.h"

namespace fathom::api::http {
namespace {

using test::get;
using test::HeldRequest;
using test::post;
using test::RawClient;
using Rig = test::TransportRig;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Transport, WantsKeys) {
  Rig rig;
  KeyRing keys;
  keys.add("alice sk-1", "test");
  rig.front.set_keys(keys);
  RawClient client(rig.port());
  EXPECT_THAT(client.ask(get("/health")), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(client.ask(get("/ready")), StartsWith("HTTP/1.1 200"));
  for (const char* path : {"/metrics", "/version", "/v1/models/m", "/nowhere"}) {
    EXPECT_THAT(client.ask(get(path)), StartsWith("HTTP/1.1 401")) << path;
  }
  EXPECT_THAT(client.ask(get("/version", "Authorization: Bearer sk-2\r\n")),
              HasSubstr("WWW-Authenticate: Bearer\r\n"));
  EXPECT_THAT(client.ask(get("/version", "Authorization: Bearer sk-1\r\n")),
              StartsWith("HTTP/1.1 200"));
  client.send(post("/v1/held", "", "Authorization: Bearer sk-1\r\n"));
  const HeldRequest held = rig.handler->take();
  EXPECT_EQ(held.request.key, "alice");
  held.responder->reply({});
  client.read_answer();
  rig.front.set_keys(KeyRing());
  EXPECT_THAT(client.ask(get("/version")), StartsWith("HTTP/1.1 200"));
}

// A rig whose key "alice" may run one request, and that one under way.
struct BusyKey {
  Rig rig;
  RawClient first;
  HeldRequest running;

  explicit BusyKey(int64_t max_queued, std::chrono::milliseconds patience = std::chrono::hours(1))
      : rig({.comment_s = 0.05, .max_running_per_key = 1, .max_queued_per_key = max_queued}),
        first(rig.port()) {
    rig.handler->patience = patience;
    KeyRing keys;
    keys.add("alice sk-1\n", "test");
    rig.front.set_keys(keys);
    first.send(request("/v1/held", "first"));
    running = rig.handler->take();
  }

  static std::string request(std::string_view path, std::string_view body) {
    return post(path, body, "Authorization: Bearer sk-1\r\n");
  }
};

TEST(Transport, KeepsAStreamAliveThatWaitsForItsKey) {
  BusyKey busy(0);
  RawClient second(busy.rig.port());
  second.send(BusyKey::request("/v1/held?stream", "second"));
  const std::string head = second.read_until("\r\n\r\n");
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(head, HasSubstr("text/event-stream"));
  second.read_until(": waiting\n\n");
  second.read_until(": waiting\n\n");
  EXPECT_EQ(busy.rig.handler->n_held(), 1);
  busy.running.responder->reply({});
  const HeldRequest held = busy.rig.handler->take();
  EXPECT_EQ(held.request.body, "second");
  held.responder->send("data: 1\n\n");
  held.responder->end_stream();
  second.read_until("data: 1\n\n");
  second.read_until("\r\n0\r\n\r\n");
  busy.rig.wait_for_rest();
}

TEST(Transport, EndsWhatWaitsTooLongForItsKey) {
  BusyKey busy(0, std::chrono::milliseconds(50));
  RawClient second(busy.rig.port());
  EXPECT_THAT(second.ask(BusyKey::request("/v1/held", "second")), StartsWith("HTTP/1.1 503"));
  RawClient third(busy.rig.port());
  busy.running.responder->reply({});  // the place is free again
  third.send(BusyKey::request("/v1/held", "third"));
  const HeldRequest held = busy.rig.handler->take();
  EXPECT_EQ(held.request.body, "third");
  held.responder->reply({});
  busy.rig.wait_for_rest();
}

TEST(Transport, TellsAFullQueueByTheHead) {
  Rig rig;
  KeyRing keys;
  keys.add("alice sk-1\n", "test");
  rig.front.set_keys(keys);
  rig.handler->is_full = true;
  const std::string head =
      " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-1\r\nContent-Length: 1000000\r\n"
      "Expect: 100-continue\r\n\r\n";
  RawClient client(rig.port());
  const std::string answer = client.ask("POST /v1/held" + head);  // no byte of its body
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 429"));
  EXPECT_THAT(answer, HasSubstr("Connection: close\r\n"));
  ASSERT_EQ(rig.records->all().size(), 1U);
  EXPECT_EQ(rig.records->all()[0].route, "/v1/held");
  EXPECT_EQ(rig.records->all()[0].status, 429);
  EXPECT_EQ(rig.records->all()[0].key, "alice");
  // Faults that the head shows, and those of a missing body, come first.
  RawClient lost(rig.port());
  EXPECT_THAT(lost.ask("POST /nowhere" + head), StartsWith("HTTP/1.1 404"));
  RawClient stranger(rig.port());
  EXPECT_THAT(stranger.ask(post("/v1/held", "x")), StartsWith("HTTP/1.1 401"));
  RawClient large(rig.port());
  EXPECT_THAT(large.ask("POST /v1/held HTTP/1.1\r\nHost: x\r\nContent-Length: 99000000\r\n\r\n"),
              StartsWith("HTTP/1.1 413"));
  // The body of a short one is dropped, and the connection stays.
  RawClient brief(rig.port());
  EXPECT_THAT(brief.ask(post("/v1/held", "{", "Authorization: Bearer sk-1\r\n")),
              StartsWith("HTTP/1.1 429"));
  EXPECT_THAT(brief.ask(get("/health")), StartsWith("HTTP/1.1 200"));
  RawClient empty(rig.port());
  empty.send(post("/v1/held", "", "Authorization: Bearer sk-1\r\n"));
  rig.handler->take().responder->reply({.status = 400});
  EXPECT_THAT(empty.read_answer(), StartsWith("HTTP/1.1 400"));
}

TEST(Transport, TellsAKeysFullQueueByTheHead) {
  BusyKey busy(1);
  RawClient second(busy.rig.port());
  second.send(BusyKey::request("/v1/held", "second"));
  while (busy.rig.transport->n_exchanges() < 2) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  RawClient third(busy.rig.port());
  const std::string refused = third.ask(
      "POST /v1/held HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-1\r\n"
      "Content-Length: 1000000\r\n\r\n");
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 429"));
  EXPECT_THAT(refused, HasSubstr("Retry-After: 1\r\n"));
  busy.running.responder->reply({});
  busy.rig.handler->take().responder->reply({});
  busy.rig.wait_for_rest();
}

TEST(Transport, LimitsTheRequestsOfAKey) {
  Rig rig({.max_running_per_key = 1, .max_queued_per_key = 1});
  KeyRing keys;
  keys.add("alice sk-1\nbob sk-2\n", "test");
  rig.front.set_keys(keys);
  const auto request = [](const char* key, const char* body) {
    return post("/v1/held", body, std::string("Authorization: Bearer ") + key + "\r\n");
  };
  RawClient first(rig.port());
  first.send(request("sk-1", "first"));
  const HeldRequest running = rig.handler->take();
  auto second = std::make_unique<RawClient>(rig.port());
  second->send(request("sk-1", "second"));
  while (rig.transport->n_exchanges() < 2) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  RawClient third(rig.port());
  const std::string refused = third.ask(request("sk-1", "third"));
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 429"));
  EXPECT_THAT(refused, HasSubstr("Retry-After: 1\r\n"));
  RawClient other(rig.port());
  other.send(request("sk-2", "other"));
  const HeldRequest others = rig.handler->take();  // bob does not wait for alice
  EXPECT_EQ(others.request.body, "other");
  second.reset();  // while it waits: never executed
  while (rig.transport->n_exchanges() > 2) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  third.send(request("sk-1", "fourth"));
  while (rig.transport->n_exchanges() < 3) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(rig.handler->n_held(), 2);
  running.responder->reply({});
  EXPECT_EQ(rig.handler->take().request.body, "fourth");  // abandoned: answered with 500
  others.responder->reply({});
  EXPECT_THAT(first.read_answer(), StartsWith("HTTP/1.1 200"));
  rig.wait_for_rest();
}

}  // namespace
}  // namespace fathom::api::http
