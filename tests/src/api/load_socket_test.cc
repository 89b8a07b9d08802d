// A client with TLS: whom it believes, and what it says of those whom it does not.
#include "api/load_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "api/http/front.h"
#include "api/http/transport.h"
#include "api/load_client.h"
#include "src/api/http/certificate.h"
#include "support/error_check.h"
#include "support/temp_folder.h"

namespace fathom::api {
namespace {

class LoadSocketTest : public testing::Test {
 protected:
  LoadSocketTest() { transport_.start(); }

  std::string ask(const std::string& host, const LoadTrust& trust) {
    LoadTarget target = parse_url("https://" + host + ":" + std::to_string(transport_.port()));
    target.trust = trust;
    return get_answer(target, "/health").body;
  }

  test::TempFolder folder_;
  test::Pem pem_ = test::make_pem(1);  // of "localhost"
  std::string certificate_ = folder_.write("crt", pem_.certificate);
  http::Front front_{{}};
  http::Transport transport_{
      {.port = 0, .certificate_path = certificate_, .key_path = folder_.write("key", pem_.key)},
      front_,
      nullptr};
};

TEST_F(LoadSocketTest, BelievesTheNamedAuthority) {
  EXPECT_EQ(ask("localhost", open_trust(certificate_, false)), R"({"status":"ok"})");
}

TEST_F(LoadSocketTest, BelievesNobodyElse) {
  const std::string other = folder_.write("other", test::make_pem(2).certificate);
  for (const std::string& ca : {std::string(), other}) {
    test::expect_error([&] { ask("localhost", open_trust(ca, false)); }, ErrorCode::kPeerLost,
                       {"localhost", "not trusted", "--ca-file", "--insecure"});
  }
}

TEST_F(LoadSocketTest, BelievesNoOtherName) {
  test::expect_error([&] { ask("127.0.0.1", open_trust(certificate_, false)); },
                     ErrorCode::kPeerLost, {"127.0.0.1", "not trusted", "mismatch"});
}

TEST_F(LoadSocketTest, TakesAnyCertificateWhereAsked) {
  EXPECT_EQ(ask("127.0.0.1", open_trust("", true)), R"({"status":"ok"})");
}

TEST_F(LoadSocketTest, RefusesFilesThatAreNoCertificates) {
  test::expect_error([&] { open_trust(folder_.path_of("none"), false); }, ErrorCode::kNotFound,
                     {"none"});
  test::expect_error([&] { open_trust(folder_.write("junk", "junk"), false); },
                     ErrorCode::kCorruptFile, {"junk"});
}

TEST_F(LoadSocketTest, SaysThatTheOtherSideHasNoTls) {
  http::Transport plain({.port = 0}, front_, nullptr);
  plain.start();
  LoadTarget target = parse_url("https://127.0.0.1:" + std::to_string(plain.port()));
  target.trust = open_trust("", true);
  test::expect_error([&] { get_answer(target, "/health"); }, ErrorCode::kPeerLost, {"no TLS"});
  const LoadSample sample = run_request(target, "/", "{}", std::chrono::steady_clock::now());
  EXPECT_THAT(sample.error, testing::HasSubstr("no TLS"));
}

}  // namespace
}  // namespace fathom::api
