// Addresses, events in every cut of their bytes, and a server that behaves and one that does not.
#include "api/load_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/error_check.h"

namespace fathom::api {
namespace {

using testing::ElementsAre;

TEST(LoadClient, ReadsAddresses) {
  const LoadTarget plain = parse_url("http://localhost:8080");
  EXPECT_EQ(plain.host, "localhost");
  EXPECT_EQ(plain.port, 8080);
  EXPECT_EQ(plain.prefix, "");
  EXPECT_EQ(parse_url("http://host/v1/").prefix, "");
  EXPECT_EQ(parse_url("http://host").port, 80);
  EXPECT_FALSE(parse_url("http://host").is_https);
  EXPECT_EQ(parse_url("https://host").port, 443);
  EXPECT_TRUE(parse_url("https://host:8443/v1").is_https);
  EXPECT_EQ(parse_url("https://host:8443/v1").port, 8443);
  EXPECT_EQ(parse_url("http://host:1/api/v1").prefix, "/api");
  EXPECT_EQ(parse_url("http://[::1]:99").host, "::1");
  EXPECT_EQ(parse_url("http://[::1]:99").port, 99);
  for (const char* wrong : {"", "localhost:8080", "ftp://host", "http://", "https://", "http://:80",
                            "http://host:0", "http://host:70000", "http://host:x"}) {
    test::expect_error([&] { parse_url(wrong); }, ErrorCode::kInvalidArgument,
                       {"http://HOST:PORT"});
  }
}

TEST(LoadClient, ReadsEventsInEveryCut) {
  const std::string answer =
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
      "c\r\ndata: one\n\nd\r\n6\r\nata:tw\r\n9\r\no\n\n: c\n\n\r\n0\r\n\r\n";
  for (size_t piece = 1; piece <= answer.size(); ++piece) {
    EventReader reader;
    std::vector<std::string> events;
    for (size_t at = 0; at < answer.size(); at += piece) {
      for (std::string& event : reader.take(std::string_view(answer).substr(at, piece))) {
        events.push_back(std::move(event));
      }
    }
    EXPECT_THAT(events, ElementsAre("one", "two")) << piece;
    EXPECT_TRUE(reader.is_done()) << piece;
    EXPECT_EQ(reader.status(), 200);
  }
}

TEST(LoadClient, ReadsWholeBodies) {
  EventReader reader;
  reader.take("HTTP/1.1 404 Not Found\r\ncontent-length: 5\r\n\r\nhel");
  EXPECT_FALSE(reader.is_done());
  reader.take("lo");
  EXPECT_TRUE(reader.is_done());
  EXPECT_EQ(reader.status(), 404);
  EXPECT_EQ(reader.body(), "hello");
}

TEST(LoadClient, SaysThatNobodyIsThere) {
  LoadTarget nobody;
  nobody.host = "127.0.0.1";
  nobody.port = 1;
  const LoadSample sample = run_request(nobody, "/", "{}", std::chrono::steady_clock::now());
  EXPECT_THAT(sample.error, testing::HasSubstr("cannot connect"));
  test::expect_error([&] { get_answer(nobody, "/"); }, ErrorCode::kPeerLost, {"127.0.0.1:1"});
}

}  // namespace
}  // namespace fathom::api
