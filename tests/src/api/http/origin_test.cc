// Origins that a browser sends, and texts that none does.
#include "api/http/origin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fathom::api::http {
namespace {

using testing::HasSubstr;

TEST(Origin, TakesWhatBrowsersSend) {
  for (const char* good :
       {"*", "http://page", "https://a-b.example", "http://localhost:3000", "http://127.0.0.1",
        "https://[::1]:8443", "https://[::1]", "chrome-extension://abcdef", "https://host:80"}) {
    EXPECT_EQ(origin_fault(good), "") << good;
  }
}

TEST(Origin, SaysWhyOthersNeverMatch) {
  EXPECT_EQ(origin_fault("page.example"),
            "'page.example' is no origin of a page: it has no SCHEME://; expected * or "
            "SCHEME://HOST[:PORT]");
  EXPECT_THAT(origin_fault(""), HasSubstr("no SCHEME://"));
  EXPECT_THAT(origin_fault("null"), HasSubstr("no SCHEME://"));
  EXPECT_THAT(origin_fault("://page"), HasSubstr("scheme"));
  EXPECT_THAT(origin_fault("1http://page"), HasSubstr("scheme"));
  EXPECT_THAT(origin_fault("HTTP://page"), HasSubstr("scheme"));
  for (const char* host : {"http://", "http://Page", "http://page/", "http://page/path",
                           "http://*.example", "http://user@page", "http://a b", "http://[]"}) {
    EXPECT_THAT(origin_fault(host), HasSubstr("its host")) << host;
  }
  for (const char* port : {"http://page:", "http://page:0", "http://page:65536", "http://page:x",
                           "http://page:+80", "http://page:80/"}) {
    EXPECT_THAT(origin_fault(port), HasSubstr("its port")) << port;
  }
  EXPECT_THAT(origin_fault("http://page:80"), HasSubstr("browsers leave the port 80 out"));
  EXPECT_THAT(origin_fault("https://page:443"), HasSubstr("browsers leave the port 443 out"));
}

}  // namespace
}  // namespace fathom::api::http
