// Signals at times that nobody plans for: while the model is loaded, while the server drains.
// Read next: apps/fathom/serve.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "apps/fathom/server_program.h"
#include "src/api/http/raw_client.h"

namespace fathom::app {
namespace {

using test::get;
using test::ModelFolder;
using test::post;
using test::RawClient;
using test::ServerProgram;
using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;

// A cache that takes a while to be made resident.
constexpr const char* kLargeCache = "512M";

std::string endless() {
  return post("/v1/completions",
              R"({"prompt":"a","max_tokens":1000000,"context_shift":true,"ignore_eos":true,)"
              R"("stream":true})");
}

TEST(ServeSignals, TermWhileLoadingEndsAtOnce) {
  const ModelFolder files;
  ServerProgram server(files.arguments({"--kv-memory", kLargeCache}));
  server.send_signal(SIGTERM);
  std::string rest;
  EXPECT_EQ(server.wait_for_end(&rest), 0);
  EXPECT_THAT(rest, AnyOf(HasSubstr("ends at once"), HasSubstr("stopped")));
}

TEST(ServeSignals, TermTwiceWhileLoadingEndsAsWell) {
  const ModelFolder files;
  ServerProgram server(files.arguments({"--kv-memory", kLargeCache}));
  server.send_signal(SIGTERM);
  server.send_signal(SIGINT);
  server.send_signal(SIGTERM);
  EXPECT_THAT(server.wait_for_end(), AnyOf(0, 130));  // 130: it was ready in between
}

TEST(ServeSignals, HangupWhileLoadingReadsTheKeysAgain) {
  const ModelFolder files;
  const std::string keys = files.folder.write("keys", "alice sk-1\n");
  ServerProgram server(files.arguments({"--kv-memory", kLargeCache, "--api-key-file", keys}));
  files.folder.write("keys", "bob sk-2\ncarol sk-3\n");
  server.send_signal(SIGHUP);
  server.log_until("read again: 2 API keys");
  RawClient client(server.port());
  EXPECT_THAT(client.ask(get("/version", "Authorization: Bearer sk-1\r\n")),
              StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(client.ask(get("/version", "Authorization: Bearer sk-3\r\n")),
              StartsWith("HTTP/1.1 200"));
}

TEST(ServeSignals, HangupOfAPipeAsKeyFileKeepsTheOldKeys) {
  const ModelFolder files;
  const std::string keys = files.folder.write("keys", "alice sk-1\n");
  ServerProgram server(files.arguments({"--api-key-file", keys}));
  ASSERT_EQ(::unlink(keys.c_str()), 0);
  ASSERT_EQ(::mkfifo(keys.c_str(), 0600), 0);
  server.send_signal(SIGHUP);
  server.log_until("not read again, the old keys and certificates stay");
  RawClient client(server.port());
  EXPECT_THAT(client.ask(get("/version", "Authorization: Bearer sk-1\r\n")),
              StartsWith("HTTP/1.1 200"));
}

TEST(ServeSignals, HangupWhileDrainingEndsNothing) {
  const ModelFolder files;
  ServerProgram server(files.arguments());
  server.wait_until_ready();
  RawClient client(server.port());
  client.send(endless());
  client.read_until("data: ");
  server.send_signal(SIGTERM);
  server.log_until("going down");
  server.send_signal(SIGHUP);
  server.log_until("read again");
  client.read_until("data: ");
  client.close();
  EXPECT_EQ(server.wait_for_end(), 0);
}

// The HTTP thread is not the one that loads.
TEST(ServeSignals, HealthIsAnsweredWhileTheCacheIsMadeResident) {
  const ModelFolder files;
  ServerProgram server(files.arguments({"--kv-memory", "1G"}));
  RawClient client(server.port());
  std::string ready;
  while (!ready.starts_with("HTTP/1.1 200")) {
    ASSERT_THAT(client.ask(get("/health")), StartsWith("HTTP/1.1 200"));
    ready = client.ask(get("/ready"));
  }
}

}  // namespace
}  // namespace fathom::app
