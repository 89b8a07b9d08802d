// Load on a server whose answers are known.
#include "api/load_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "api/http/front.h"
#include "api/http/transport.h"

namespace fathom::api {
namespace {

// Streams three events with text and the usage; a prompt that begins with "time" is refused.
class Model : public http::Handler {
 public:
  [[nodiscard]] std::span<const http::Route> routes() const override {
    static constexpr http::Route kRoutes[] = {{"POST", "/v1/completions"},
                                              {"POST", "/v1/chat/completions"}};
    return kRoutes;
  }

  void handle(http::Request request, std::shared_ptr<http::Responder> responder) override {
    {
      const std::lock_guard lock(mutex);
      bodies.insert(request.body);
      keys.insert(std::string(request.header("Authorization")));
    }
    const bool is_chat = request.path != "/v1/completions";
    responder->begin_stream({});
    responder->send(is_chat ? R"(data: {"choices":[{"delta":{"role":"assistant"}}]})"
                              "\n\n"
                            : "");
    for (int i = 0; i < 3; ++i) {
      responder->send(is_chat ? R"(data: {"choices":[{"delta":{"content":"x"}}]})"
                                "\n\n"
                              : R"(data: {"choices":[{"text":"x"}]})"
                                "\n\n");
    }
    responder->send(R"(data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":4}})"
                    "\n\n");
    responder->send("data: [DONE]\n\n");
    responder->end_stream();
  }

  std::mutex mutex;
  std::set<std::string> bodies;
  std::set<std::string> keys;
};

struct Rig {
  std::shared_ptr<Model> model = std::make_shared<Model>();
  http::Front front{{}};
  http::Transport transport{{.port = 0}, front, nullptr};
  LoadPlan plan;

  Rig() {
    front.set_handler(model);
    front.set_stage(http::Stage::kReady);
    transport.start();
    plan.target.host = "127.0.0.1";
    plan.target.port = transport.port();
    plan.target.key = "sk-1";
    plan.n_requests = 20;
    plan.n_clients = 4;
    plan.prompt_words = {2, 5};
  }
};

void expect_all_good(const LoadResult& result) {
  for (const LoadSample& sample : result.samples) {
    EXPECT_EQ(sample.error, "");
    EXPECT_EQ(sample.n_prompt, 7);
    EXPECT_EQ(sample.n_generated, 4);
    EXPECT_EQ(sample.gaps_s.size(), 2U);
    EXPECT_GE(sample.first_token_s, 0);
    EXPECT_GE(sample.total_s, sample.first_token_s);
  }
}

TEST(LoadRun, SendsEveryRequestOnceInAClosedLoop) {
  Rig rig;
  for (const bool is_chat : {false, true}) {
    rig.plan.is_chat = is_chat;
    const LoadResult result = run_load(rig.plan, {});
    EXPECT_EQ(result.n_clients, 4);
    EXPECT_EQ(result.samples.size(), 20U);
    expect_all_good(result);
    std::set<std::string> expected;
    for (int64_t i = 0; i < 20; ++i) {
      expected.insert(load_body(rig.plan, i));
    }
    EXPECT_EQ(rig.model->bodies, expected);
    rig.model->bodies.clear();
  }
  EXPECT_EQ(rig.model->keys, std::set<std::string>({"Bearer sk-1"}));
}

TEST(LoadRun, SendsAtRandomTimesInAnOpenLoop) {
  Rig rig;
  rig.plan.rate_per_s = 200;
  int64_t last = 0;
  const LoadResult result = run_load(rig.plan, [&](int64_t n) { last = n; });
  EXPECT_EQ(result.n_clients, 0);
  EXPECT_EQ(result.rate_per_s, 200);
  EXPECT_EQ(last, 20);
  expect_all_good(result);
}

TEST(LoadRun, MakesBodiesByThePlan) {
  LoadPlan plan;
  plan.prompt_words = {3, 6};
  plan.max_tokens = {10, 12};
  plan.shared_words = 4;
  std::set<std::string> beginnings;
  for (int64_t i = 0; i < 50; ++i) {
    const auto body = nlohmann::json::parse(load_body(plan, i));
    EXPECT_EQ(body["stream"], true);
    EXPECT_GE(body["max_tokens"], 10);
    EXPECT_LE(body["max_tokens"], 12);
    EXPECT_FALSE(body.contains("ignore_eos"));
    const std::string prompt = body["prompt"];
    const auto n_words = std::count(prompt.begin(), prompt.end(), ' ');
    EXPECT_GE(n_words, 7);
    EXPECT_LE(n_words, 10);
    size_t end = 0;
    for (int word = 0; word < 4; ++word) {
      end = prompt.find(' ', end) + 1;
    }
    beginnings.insert(prompt.substr(0, end));
  }
  EXPECT_EQ(beginnings.size(), 1U);
  EXPECT_EQ(load_body(plan, 3), load_body(plan, 3));
  EXPECT_NE(load_body(plan, 3), load_body(plan, 4));
}

TEST(LoadRun, KeepsWhatWentWrong) {
  Rig rig;
  rig.front.set_stage(http::Stage::kDraining);
  const LoadResult result = run_load(rig.plan, {});
  for (const LoadSample& sample : result.samples) {
    EXPECT_THAT(sample.error, testing::StartsWith("status 503"));
  }
}

}  // namespace
}  // namespace fathom::api
