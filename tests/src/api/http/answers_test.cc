// Heads, chunks and error objects, byte by byte.
#include "api/http/answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace fathom::api::http {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Answers, WritesHeads) {
  const std::string head =
      head_text({.status = 404, .headers = {{"A", "1"}}, .body = "four"}, {{"B", "2"}}, {});
  EXPECT_THAT(head, StartsWith("HTTP/1.1 404 Not Found\r\nDate: "));
  EXPECT_THAT(head, HasSubstr("\r\nContent-Type: application/json\r\nContent-Length: 4\r\nA: 1\r\n"
                              "B: 2\r\n\r\n"));
  EXPECT_THAT(head, Not(HasSubstr("Connection")));
  EXPECT_THAT(head_text({}, {}, {.keep_alive = false}), HasSubstr("Connection: close\r\n"));
  const std::string chunked = head_text({}, {}, {.framing = Framing::kChunked});
  EXPECT_THAT(chunked, HasSubstr("Transfer-Encoding: chunked\r\n"));
  EXPECT_THAT(chunked, Not(HasSubstr("Content-Length")));
  EXPECT_THAT(head_text({.status = 204}, {}, {}), Not(HasSubstr("Content-")));
}

TEST(Answers, NoValueBeginsAnotherHeader) {
  EXPECT_THAT(head_text({.headers = {{"A", "x\r\nEvil: 1"}}}, {}, {}),
              HasSubstr("A: x  Evil: 1\r\n"));
}

TEST(Answers, WritesChunks) {
  EXPECT_EQ(chunk_text("0123456789abcdef"), "10\r\n0123456789abcdef\r\n");
  EXPECT_EQ(chunk_text(""), "");
}

TEST(Answers, WritesErrors) {
  EXPECT_EQ(error_response(400, "c", "a \"b\"\n\xff").body,
            "{\"error\":{\"code\":\"c\",\"message\":\"a \\\"b\\\"\\n\xef\xbf\xbd\",\"param\":null,"
            "\"type\":\"invalid_request_error\"}}");
  EXPECT_THAT(error_response(429, "c", "m").body, HasSubstr("rate_limit_error"));
  EXPECT_THAT(error_event(503, "c", "m"), StartsWith("data: {\"error\":"));
  EXPECT_THAT(error_event(503, "c", "m"), HasSubstr("server_error"));
}

}  // namespace
}  // namespace fathom::api::http
