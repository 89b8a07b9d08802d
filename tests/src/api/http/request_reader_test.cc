// Requests in every cut of their bytes, requests in a row, and bytes that are none.
#include "api/http/request_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace fathom::api::http {
namespace {

using State = RequestReader::State;

constexpr std::string_view kPost =
    "POST /v1/x?a=1 HTTP/1.1\r\nHost: h\r\nX-Id: 7\r\nContent-Length: 5\r\n\r\nhello";
constexpr std::string_view kChunked =
    "POST /v1/x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
    "chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n";

// Feeds `text` in pieces of at most `piece` bytes; returns how many bytes were used.
size_t feed(RequestReader& reader, std::string_view text, size_t piece) {
  std::string held;
  size_t used = 0;
  for (size_t at = 0; at < text.size(); at += piece) {
    held += text.substr(at, piece);
    while (true) {
      const State before = reader.state();
      const size_t n = reader.take(held);
      held.erase(0, n);
      used += n;
      if (n == 0 && reader.state() == before) {
        break;
      }
    }
    if (reader.state() == State::kDone || reader.state() == State::kError) {
      break;
    }
  }
  return used;
}

State state_of(std::string_view text, const ReadLimits& limits = {}) {
  RequestReader reader(limits);
  feed(reader, text, text.size());
  return reader.state();
}

int status_of(std::string_view text, const ReadLimits& limits = {}) {
  RequestReader reader(limits);
  feed(reader, text, text.size());
  EXPECT_EQ(reader.state(), State::kError) << text;
  return reader.error().status;
}

TEST(RequestReader, ReadsARequestInEveryCut) {
  for (size_t piece = 1; piece <= kPost.size(); ++piece) {
    RequestReader reader({});
    EXPECT_FALSE(reader.has_begun());
    EXPECT_EQ(feed(reader, kPost, piece), kPost.size());
    ASSERT_EQ(reader.state(), State::kDone) << piece;
    EXPECT_TRUE(reader.has_begun());
    EXPECT_TRUE(reader.has_body());
    EXPECT_TRUE(reader.keep_alive());
    const Request request = reader.take_request();
    EXPECT_EQ(request.method, "POST");
    EXPECT_EQ(request.path, "/v1/x");
    EXPECT_EQ(request.query, "a=1");
    EXPECT_EQ(request.header("x-id"), "7");
    EXPECT_EQ(request.body, "hello");
  }
}

TEST(RequestReader, ReadsChunksInEveryCut) {
  for (size_t piece = 1; piece <= kChunked.size(); ++piece) {
    RequestReader reader({});
    EXPECT_EQ(feed(reader, kChunked, piece), kChunked.size()) << piece;
    ASSERT_EQ(reader.state(), State::kDone) << piece;
    EXPECT_EQ(reader.request().body, "hello");
  }
}

TEST(RequestReader, StopsBehindTheHeadAndLeavesTheNextRequest) {
  RequestReader reader({});
  const std::string two = std::string(kPost) + "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
  const size_t head = kPost.find("hello");
  EXPECT_EQ(reader.take(two), head);
  EXPECT_EQ(reader.state(), State::kBody);
  EXPECT_EQ(reader.take(std::string_view(two).substr(head)), 5U);
  EXPECT_EQ(reader.take(std::string_view(two).substr(head + 5)), 0U);
  EXPECT_EQ(reader.state(), State::kDone);
}

TEST(RequestReader, KnowsVersionsAndExpectations) {
  RequestReader old({});
  feed(old, "GET / HTTP/1.0\r\n\r\n", 100);
  EXPECT_EQ(old.state(), State::kDone);
  EXPECT_TRUE(old.is_http_1_0());
  EXPECT_FALSE(old.keep_alive());
  RequestReader closing({});
  feed(closing, "GET http://host:1/a?b HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", 100);
  EXPECT_FALSE(closing.keep_alive());
  EXPECT_EQ(closing.request().path, "/a");
  EXPECT_EQ(closing.request().query, "b");
  RequestReader expecting({});
  feed(expecting, "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n",
       100);
  EXPECT_EQ(expecting.state(), State::kBody);
  EXPECT_TRUE(expecting.wants_continue());
}

TEST(RequestReader, RefusesWhatIsTooLong) {
  const ReadLimits small{.head_bytes = 64, .body_bytes = 4};
  EXPECT_EQ(status_of("GET /" + std::string(100, 'a') + " HTTP/1.1\r\nHost: h\r\n\r\n", small),
            431);
  EXPECT_EQ(
      status_of("GET / HTTP/1.1\r\nHost: h\r\nA: " + std::string(100, 'a') + "\r\n\r\n", small),
      431);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n", small), 413);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1073741824\r\n\r\n", small),
            413);
  EXPECT_EQ(
      status_of(
          "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\nabc",
          small),
      413);
  EXPECT_EQ(state_of("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nabcd", small),
            State::kDone);
}

TEST(RequestReader, RefusesWhatIsNoRequest) {
  EXPECT_EQ(status_of("\x16\x03\x01\x02junk that is a TLS hello\r\n\r\n"), 400);
  EXPECT_EQ(status_of("hello\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET nowhere HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
  EXPECT_EQ(status_of("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n"), 400);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n"), 400);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n"),
            400);
}

TEST(RequestReader, RefusesTwoEndsOfOneBody) {
  EXPECT_EQ(
      status_of("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
      400);
  EXPECT_EQ(
      status_of(
          "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
      400);
  EXPECT_EQ(
      status_of(
          "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n"),
      400);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
            400);
}

TEST(RequestReader, RefusesWhatAProxyMayReadInAnotherWay) {
  for (const char* coding :
       {"identity", "xchunked", "chunked, identity", "gzip, chunked", "gzip"}) {
    EXPECT_EQ(status_of(std::string("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: ") + coding +
                        "\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"),
              400)
        << coding;
  }
  EXPECT_EQ(status_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400);
  EXPECT_EQ(state_of("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked \r\n\r\n0\r\n\r\n"),
            State::kDone);
}

TEST(RequestReader, WantsOneHost) {
  const auto refusal = [](std::string_view text) {
    RequestReader reader({});
    feed(reader, text, text.size());
    EXPECT_EQ(reader.state(), State::kError) << text;
    EXPECT_EQ(reader.error().status, 400) << text;
    return reader.error().message;
  };
  EXPECT_EQ(refusal("GET / HTTP/1.1\r\n\r\n"),
            "the request has no header Host; expected one, such as 'Host: localhost'");
  EXPECT_EQ(refusal("GET http://h/ HTTP/1.1\r\n\r\n").find("the request has no header Host"), 0U);
  EXPECT_EQ(refusal("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"),
            "the request has 2 headers Host; expected one");
  EXPECT_EQ(refusal("GET / HTTP/1.0\r\nHost: a\r\nhost: b\r\n\r\n"),
            "the request has 2 headers Host; expected one");
  EXPECT_EQ(refusal("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"),
            "the request's Host is 'a/b'; expected HOST or HOST:PORT");
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a b\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: user@a\r\n\r\n"), 400);
  for (const char* host : {"localhost:8080", "[::1]:80", "a-b.example", ""}) {
    EXPECT_EQ(state_of(std::string("GET / HTTP/1.1\r\nHost: ") + host + "\r\n\r\n"), State::kDone)
        << host;
  }
  EXPECT_EQ(state_of("GET / HTTP/1.0\r\n\r\n"), State::kDone);
}

TEST(RequestReader, RefusesLinesOfChunksThatAreTooLong) {
  const ReadLimits small{.head_bytes = 64, .body_bytes = 100};
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(status_of(head + "1;a=" + std::string(100, 'b'), small), 431);
  EXPECT_EQ(status_of(head + std::string(100, '0'), small), 431);
  EXPECT_EQ(status_of(head + "1\r\na\r\n0\r\nA: " + std::string(100, 'b'), small), 431);
  EXPECT_EQ(state_of(head + "1;a=b\r\na\r\n0\r\nA: b\r\n\r\n", small), State::kDone);
}

}  // namespace
}  // namespace fathom::api::http
