// Requests that wait for others of their API key: kept alive, ended in time, never computed for
// nobody. Read next: api/openai/answering.cc, api/http/exchange.h (Turn).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include "src/api/openai/server_rig.h"

namespace fathom::api::openai {
namespace {

using testing::HasSubstr;

constexpr const char* kTextPath = "/v1/completions";

// Greedy, "AAAA...", with further members.
std::string always_a(const std::string& more) {
  return R"({"prompt":"xyz","temperature":0,"logit_bias":{"65":100},)" + more + "}";
}

// A request that waits for others of its API key.
class HandlerTurns : public testing::Test {
 protected:
  HandlerTurns() { waiting_->hold_turn(); }

  test::Server server_;
  std::shared_ptr<test::FakeResponder> waiting_ = std::make_shared<test::FakeResponder>();
};

TEST_F(HandlerTurns, AStreamBeginsWhileItWaits) {
  server_.send_to(waiting_, kTextPath, always_a(R"("max_tokens":3,"stream":true)"));
  const http::Turn turn = waiting_->take_turn();
  waiting_->wait_for_stream();
  EXPECT_EQ(server_.engine().n_open(), 0);
  turn.start();
  const http::Response response = waiting_->wait();
  EXPECT_EQ(response.status, 200);
  EXPECT_THAT(response.body, HasSubstr("[DONE]"));
  EXPECT_EQ(test::events_of(response.body).back()["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(server_.records().wait(1)[0].generated_tokens, 3);
}

TEST_F(HandlerTurns, WhatIsWrongIsToldAtOnce) {
  server_.send_to(waiting_, kTextPath, R"({"prompt":"a","temperature":"hot","stream":true})");
  EXPECT_EQ(waiting_->wait().status, 400);
}

TEST_F(HandlerTurns, WaitingTooLongEndsItWithItsOwnCause) {
  server_.send_to(waiting_, kTextPath, always_a(R"("queue_timeout_seconds":5,"stream":true)"));
  const http::Turn turn = waiting_->take_turn();
  EXPECT_LT(turn.until, std::chrono::steady_clock::now() + std::chrono::seconds(6));
  waiting_->wait_for_stream();
  turn.late();
  EXPECT_THAT(waiting_->wait().body, HasSubstr("queue_timeout"));
  EXPECT_EQ(server_.records().wait(1)[0].status, 503);
  turn.start();  // too late: nothing comes of it
  auto whole = std::make_shared<test::FakeResponder>();
  whole->hold_turn();
  server_.send_to(whole, kTextPath, always_a(R"("queue_timeout_seconds":7,"deadline_seconds":6)"));
  whole->take_turn().late();
  EXPECT_EQ(whole->wait().status, 504);
  EXPECT_EQ(server_.engine().stats().n_prompt_rows, 0);
}

TEST_F(HandlerTurns, TheTimeOfWaitingCounts) {
  server_.send_to(waiting_, kTextPath, always_a(R"("deadline_seconds":0.0000001)"));
  waiting_->take_turn().start();
  EXPECT_EQ(waiting_->wait().status, 504);
}

TEST_F(HandlerTurns, AClientThatLeavesIsNeverComputed) {
  server_.send_to(waiting_, kTextPath, always_a(R"("max_tokens":3)"));
  const http::Turn turn = waiting_->take_turn();
  waiting_->leave();
  const auto records = server_.records().wait(1);
  EXPECT_EQ(records[0].status, 499);
  EXPECT_EQ(records[0].finish_reason, "cancelled");
  turn.start();
  server_.engine().stop();
  EXPECT_EQ(server_.engine().stats().n_prompt_rows, 0);
}

TEST_F(HandlerTurns, SmallRequestsWaitAsWell) {
  server_.send_to(waiting_, "/tokenize", R"({"prompt":"a"})");
  const http::Turn turn = waiting_->take_turn();
  EXPECT_FALSE(waiting_->is_whole());
  turn.start();
  EXPECT_EQ(waiting_->wait().status, 200);
}

}  // namespace
}  // namespace fathom::api::openai
