// The step thread over a tiny model: tokens to sinks, cancelling, limits, the end.
// Read next: api/engine_thread.h.
#include "api/engine_thread.h"

#include <gtest/gtest.h>

#include <future>

#include "api/session.h"
#include "base/error.h"
#include "support/error_check.h"
#include "support/temp_folder.h"
#include "support/tiny_chat_model.h"

namespace fathom::api {
namespace {

class Sink final : public engine::TextSink {
 public:
  bool on_token(const engine::TokenEvent& event) override {
    ids.push_back(event.id);
    if (ids.size() == 1) {
      first.set_value();
    }
    return true;
  }

  void on_finish(engine::FinishReason reason, const engine::Usage& usage,
                 std::string_view /*message*/) override {
    n_generated = usage.generated_tokens;
    end.set_value(reason);
  }

  std::vector<int32_t> ids;
  int64_t n_generated = 0;
  std::promise<void> first;
  std::promise<engine::FinishReason> end;
};

class EngineThreadTest : public testing::Test {
 protected:
  void SetUp() override {
    SessionOptions options;
    options.model_path = test::tiny_chat_gguf().write(folder_.path_of("m.gguf"));
    options.context = 4096;
    options.n_threads = 1;
    options.max_sequences = 2;
    session_ = Session::open(options);
  }

  static engine::Request request(int64_t max_tokens) {
    engine::Request made;
    made.prompt = {1, 2, 3};
    made.sampling.temperature = 0;
    made.max_tokens = max_tokens;
    return made;
  }

  test::TempFolder folder_;
  std::unique_ptr<Session> session_;
};

TEST_F(EngineThreadTest, TokensComeAndTheThreadRests) {
  EngineThread thread(session_->engine(), 4);
  EXPECT_EQ(thread.max_open(), 4);
  for (int round = 0; round < 3; ++round) {
    const auto sink = std::make_shared<Sink>();
    EXPECT_TRUE(thread.try_submit({{request(5), {sink}}}).has_value());
    EXPECT_EQ(sink->end.get_future().get(), engine::FinishReason::kLength);
    EXPECT_EQ(sink->ids.size(), 5U);
    EXPECT_EQ(sink->n_generated, 5);
  }
  thread.stop();
  EXPECT_EQ(thread.n_open(), 0);
  EXPECT_FALSE(thread.pulse().is_stepping);
  EXPECT_GE(thread.pulse().n_steps, 15U);
  EXPECT_EQ(thread.stats().n_running, 0);
}

TEST_F(EngineThreadTest, ChoicesOfOneJobHaveOneTicket) {
  EngineThread thread(session_->engine(), 4);
  const auto first = std::make_shared<Sink>();
  const auto second = std::make_shared<Sink>();
  const auto ticket = thread.try_submit({{request(4000), {first, second}}});
  ASSERT_TRUE(ticket.has_value());
  first->first.get_future().wait();
  thread.cancel(*ticket);
  EXPECT_EQ(first->end.get_future().get(), engine::FinishReason::kCancelled);
  EXPECT_EQ(second->end.get_future().get(), engine::FinishReason::kCancelled);
  thread.cancel(*ticket);  // unknown by now
  thread.stop();
  EXPECT_EQ(session_->pages().n_free(), session_->pages().n_pages());
}

TEST_F(EngineThreadTest, AllJobsAreTakenOrNone) {
  EngineThread thread(session_->engine(), 3);
  const auto sink = [] { return std::make_shared<Sink>(); };
  const auto running = sink();
  ASSERT_TRUE(thread.try_submit({{request(4000), {running}}}).has_value());
  EXPECT_FALSE(
      thread.try_submit({{request(1), {sink(), sink()}}, {request(1), {sink()}}}).has_value());
  EXPECT_EQ(thread.n_open(), 1);
  const auto a = sink();
  const auto b = sink();
  EXPECT_TRUE(thread.try_submit({{request(1), {a}}, {request(1), {b}}}).has_value());
  EXPECT_EQ(a->end.get_future().get(), engine::FinishReason::kLength);
  EXPECT_EQ(b->end.get_future().get(), engine::FinishReason::kLength);
  thread.stop();
  EXPECT_EQ(running->end.get_future().get(), engine::FinishReason::kCancelled);
}

TEST_F(EngineThreadTest, WhatTheEngineRefusesIsThrownAtOnce) {
  EngineThread thread(session_->engine(), 3);
  engine::Request bad = request(1);
  bad.prompt = {-1};
  test::expect_error([&] { thread.check(bad); }, ErrorCode::kInvalidArgument, {"-1"});
  const auto good = std::make_shared<Sink>();
  test::expect_error(
      [&] {
        thread.try_submit({{request(1), {good}}, {bad, {std::make_shared<Sink>()}}});
      },
      ErrorCode::kInvalidArgument, {"-1"});
  EXPECT_EQ(thread.n_open(), 0);
}

// C26: whoever asks how the engine is, or brings or cancels a request, waits for no step.
TEST_F(EngineThreadTest, NobodyWaitsForAStep) {
  class Blocking final : public engine::TextSink {
   public:
    bool on_token(const engine::TokenEvent& /*event*/) override {
      entered.set_value();
      released.get_future().wait();
      return false;
    }

    void on_finish(engine::FinishReason /*reason*/, const engine::Usage& /*usage*/,
                   std::string_view /*message*/) override {}

    std::promise<void> entered;
    std::promise<void> released;
  };

  EngineThread thread(session_->engine(), 4);
  const auto blocking = std::make_shared<Blocking>();
  ASSERT_TRUE(thread.try_submit({{request(5), {blocking}}}).has_value());
  blocking->entered.get_future().wait();  // the step goes on until the test lets it
  EXPECT_TRUE(thread.pulse().is_stepping);
  EXPECT_EQ(thread.n_open(), 1);
  EXPECT_EQ(thread.stats().n_steps, 0);  // as of the last border
  const auto other = std::make_shared<Sink>();
  const auto ticket = thread.try_submit({{request(5), {other}}});
  ASSERT_TRUE(ticket.has_value());
  thread.cancel(*ticket);
  blocking->released.set_value();
  EXPECT_EQ(other->end.get_future().get(), engine::FinishReason::kCancelled);
}

TEST_F(EngineThreadTest, StoppingEndsWhatRunsAndTakesNothingMore) {
  EngineThread thread(session_->engine(), 8);
  std::vector<std::shared_ptr<Sink>> sinks;
  for (int i = 0; i < 5; ++i) {  // three of them wait
    sinks.push_back(std::make_shared<Sink>());
    ASSERT_TRUE(thread.try_submit({{request(4000), {sinks.back()}}}).has_value());
  }
  thread.stop();
  for (const auto& sink : sinks) {
    EXPECT_EQ(sink->end.get_future().get(), engine::FinishReason::kCancelled);
    EXPECT_EQ(sink.use_count(), 1);  // nobody holds it any more
  }
  EXPECT_FALSE(thread.try_submit({{request(1), {std::make_shared<Sink>()}}}).has_value());
  thread.stop();
}

}  // namespace
}  // namespace fathom::api
