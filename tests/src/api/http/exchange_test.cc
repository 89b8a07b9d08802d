// Headers are found whatever the case of their letters.
#include "api/http/exchange.h"

#include <gtest/gtest.h>

namespace fathom::api::http {
namespace {

TEST(Exchange, FindsHeadersInAnyCase) {
  Request request;
  request.headers = {{"Content-Type", "a"}, {"X-Id", "first"}, {"x-id", "second"}};
  EXPECT_EQ(request.header("content-type"), "a");
  EXPECT_EQ(request.header("CONTENT-TYPE"), "a");
  EXPECT_EQ(request.header("X-ID"), "first");
  EXPECT_EQ(request.header("x-i"), "");
  EXPECT_EQ(request.header("x-id2"), "");
}

}  // namespace
}  // namespace fathom::api::http
