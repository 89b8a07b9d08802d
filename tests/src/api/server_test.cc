// A server's life with a model that the test plays: loading, failing, serving, stuck, draining.
#include "api/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "base/error.h"
#include "src/api/http/fake_handler.h"
#include "src/api/http/raw_client.h"
#include "support/error_check.h"
#include "support/temp_folder.h"

namespace fathom::api {
namespace {

using State = Server::State;
using test::get;
using test::post;
using test::RawClient;
using testing::HasSubstr;
using testing::StartsWith;

ServerOptions on_free_port() {
  ServerOptions options;
  options.transport.port = 0;
  options.version = "1.2.3";
  return options;
}

struct FakeModel {
  std::shared_ptr<test::FakeHandler> handler = std::make_shared<test::FakeHandler>();
  std::atomic<double> step_s = 0;
  std::atomic<bool> is_stopped = false;

  ServedModel served() {
    return {.handler = handler,
            .stats =
                [] {
                  engine::EngineStats stats;
                  stats.n_waiting = 4;
                  return stats;
                },
            .beat =
                [this] {
                  return StepBeat{step_s.load(), "forward"};
                },
            .stop = [this] { is_stopped = true; }};
  }
};

State tick_until(Server& server, State wanted) {
  State state = server.tick();
  for (int i = 0; i < 6000 && state != wanted; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    state = server.tick();
  }
  return state;
}

std::string ask(const Server& server, const std::string& request) {
  RawClient client(server.port());
  return client.ask(request);
}

TEST(Server, IsHealthyBeforeItIsReady) {
  FakeModel model;
  std::promise<void> may_load;
  {
    Server server(on_free_port());
    server.load([&] {
      may_load.get_future().wait();
      return model.served();
    });
    EXPECT_EQ(server.tick(), State::kLoading);
    EXPECT_THAT(ask(server, get("/health")), StartsWith("HTTP/1.1 200"));
    EXPECT_THAT(ask(server, get("/ready")), StartsWith("HTTP/1.1 503"));
    EXPECT_THAT(ask(server, get("/ready")), HasSubstr(R"({"status":"loading"})"));
    EXPECT_THAT(ask(server, get("/version")), HasSubstr(R"({"version":"1.2.3"})"));
    const std::string early = ask(server, post("/v1/echo", "x"));
    EXPECT_THAT(early, StartsWith("HTTP/1.1 503"));
    EXPECT_THAT(early, HasSubstr(R"("code":"loading")"));
    may_load.set_value();
    EXPECT_EQ(tick_until(server, State::kServing), State::kServing);
    EXPECT_THAT(ask(server, get("/ready")), StartsWith("HTTP/1.1 200"));
    EXPECT_THAT(ask(server, post("/v1/echo", "x")), StartsWith("HTTP/1.1 200"));
    const std::string metrics = ask(server, get("/metrics"));
    EXPECT_THAT(metrics, HasSubstr("fathom_requests{state=\"waiting\"} 4\n"));
    EXPECT_THAT(metrics, HasSubstr("fathom_responses_total{route=\"none\",status=\"503\"} 1\n"));
    EXPECT_FALSE(model.is_stopped);
  }
  EXPECT_TRUE(model.is_stopped);
}

TEST(Server, SaysWhyLoadingFailed) {
  Server server(on_free_port());
  server.load([]() -> ServedModel { fail(ErrorCode::kCorruptFile, "broken"); });
  EXPECT_EQ(tick_until(server, State::kFailed), State::kFailed);
  EXPECT_THROW(std::rethrow_exception(server.failure()), Error);
}

TEST(Server, IsNotReadyWhileAStepTakesTooLong) {
  FakeModel model;
  ServerOptions options = on_free_port();
  options.watchdog_s = 5;
  Server server(options);
  server.load([&] { return model.served(); });
  ASSERT_EQ(tick_until(server, State::kServing), State::kServing);
  model.step_s = 4.9;
  server.tick();
  EXPECT_THAT(ask(server, get("/ready")), StartsWith("HTTP/1.1 200"));
  model.step_s = 5.1;
  testing::internal::CaptureStderr();
  server.tick();
  server.tick();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "fathom: error: a step takes longer than 5 s; it is in phase 'forward'\n");
  EXPECT_THAT(ask(server, get("/ready")), HasSubstr(R"({"status":"stuck"})"));
  EXPECT_THAT(ask(server, get("/health")), StartsWith("HTTP/1.1 200"));
  model.step_s = 0.1;
  server.tick();
  EXPECT_THAT(ask(server, get("/ready")), StartsWith("HTTP/1.1 200"));
}

TEST(Server, DrainsUntilAllIsDone) {
  FakeModel model;
  Server server(on_free_port());
  server.load([&] { return model.served(); });
  ASSERT_EQ(tick_until(server, State::kServing), State::kServing);
  RawClient client(server.port());
  client.send(post("/v1/held", ""));
  test::HeldRequest held = model.handler->take();
  server.drain();
  EXPECT_EQ(server.tick(), State::kDraining);
  EXPECT_THAT(ask(server, get("/ready")), HasSubstr(R"({"status":"draining"})"));
  EXPECT_THAT(ask(server, post("/v1/echo", "")), StartsWith("HTTP/1.1 503"));
  held.responder->reply({.body = "done"});
  EXPECT_THAT(client.read_all(), HasSubstr("done"));
  client.close();
  EXPECT_EQ(tick_until(server, State::kStopped), State::kStopped);
}

TEST(Server, GivesUpWhatDrainsTooLong) {
  FakeModel model;
  ServerOptions options = on_free_port();
  options.drain_s = 0.1;
  Server server(options);
  server.load([&] { return model.served(); });
  ASSERT_EQ(tick_until(server, State::kServing), State::kServing);
  RawClient client(server.port());
  client.send(post("/v1/held", ""));
  const test::HeldRequest held = model.handler->take();
  test::Flag gone;
  held.responder->on_gone([&] { gone.raise(); });
  server.drain();
  EXPECT_EQ(tick_until(server, State::kStopped), State::kStopped);
  EXPECT_EQ(gone.n_raised(), 1);
  EXPECT_THAT(client.read_all(), StartsWith("HTTP/1.1 503"));
}

TEST(Server, ASecondDrainEndsAtOnce) {
  FakeModel model;
  Server server(on_free_port());
  server.load([&] { return model.served(); });
  ASSERT_EQ(tick_until(server, State::kServing), State::kServing);
  RawClient client(server.port());
  client.send(post("/v1/held", ""));
  const test::HeldRequest held = model.handler->take();
  server.drain();
  EXPECT_EQ(server.tick(), State::kDraining);
  server.drain();
  EXPECT_EQ(server.tick(), State::kStopped);
}

TEST(Server, ReadsKeysAgain) {
  const test::TempFolder folder;
  ServerOptions options = on_free_port();
  options.key_file = folder.write("keys", "alice sk-1\n");
  options.keys = "sk-2,sk-3";
  Server server(options);
  const auto status_with = [&](const std::string& key) {
    return ask(server, get("/version", "Authorization: Bearer " + key + "\r\n")).substr(9, 3);
  };
  EXPECT_EQ(status_with("sk-1"), "200");
  EXPECT_EQ(status_with("sk-3"), "200");
  EXPECT_EQ(status_with("sk-4"), "401");
  folder.write("keys", "bob sk-4\n");
  server.reload();
  EXPECT_EQ(status_with("sk-1"), "401");
  EXPECT_EQ(status_with("sk-4"), "200");
  folder.write("keys", "two words too many\n");
  server.reload();  // a warning
  EXPECT_EQ(status_with("sk-4"), "200");
}

TEST(Server, IsNotOpenToOthersByAccident) {
  ServerOptions options = on_free_port();
  options.transport.host = "0.0.0.0";
  test::expect_error([&] { Server server(options); }, ErrorCode::kInvalidArgument,
                     {"0.0.0.0", "--api-key-file", "--no-auth"});
  options.no_auth = true;
  EXPECT_NO_THROW(Server server(options));
  options.no_auth = false;
  options.keys = "sk-1";
  EXPECT_NO_THROW(Server server(options));
  options.transport.host = "127.0.0.1";
  options.keys = ", #";
  test::expect_error([&] { Server server(options); }, ErrorCode::kInvalidArgument,
                     {"FATHOM_API_KEYS: found no API key"});
}

}  // namespace
}  // namespace fathom::api
