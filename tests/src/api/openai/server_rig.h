// A handler over a tiny random model, and clients that keep what they are sent.
// Called by tests of api/openai. Read next: support/tiny_chat_model.h.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/engine_thread.h"
#include "api/openai/handler.h"
#include "api/session.h"
#include "support/temp_folder.h"
#include "support/tiny_chat_model.h"

namespace fathom::test {

using Json = nlohmann::ordered_json;

// Keeps what a request was answered with.
class FakeResponder final : public api::http::Responder {
 public:
  void reply(api::http::Response response) override {
    const std::lock_guard guard(lock_);
    EXPECT_FALSE(is_whole_ || is_stream_) << "answered twice";
    head_ = std::move(response);
    is_whole_ = true;
    changed_.notify_all();
  }

  void begin_stream(api::http::Response head) override {
    const std::lock_guard guard(lock_);
    EXPECT_FALSE(is_whole_ || is_stream_) << "begun twice";
    head_ = std::move(head);
    is_stream_ = true;
    changed_.notify_all();
  }

  void send(std::string bytes) override {
    const std::lock_guard guard(lock_);
    EXPECT_TRUE(is_stream_ && !is_whole_) << "sent outside of a stream: " << bytes;
    head_.body += bytes;
    changed_.notify_all();
  }

  void end_stream() override {
    const std::lock_guard guard(lock_);
    EXPECT_TRUE(is_stream_ && !is_whole_) << "ended twice";
    is_whole_ = true;
    changed_.notify_all();
  }

  void on_gone(std::function<void()> gone) override {
    const std::lock_guard guard(lock_);
    gone_ = std::move(gone);
  }

  bool when_turn(api::http::Turn turn) override {
    {
      const std::lock_guard guard(lock_);
      if (!has_turn_) {
        turn_ = std::move(turn);
        changed_.notify_all();
        return false;
      }
    }
    turn.start();
    return true;
  }

  // The request will have to wait until the test says otherwise. Before it is sent.
  void hold_turn() { has_turn_ = false; }

  // What waits for its turn, once it does.
  api::http::Turn take_turn() {
    std::unique_lock guard(lock_);
    EXPECT_TRUE(
        changed_.wait_for(guard, std::chrono::minutes(1), [this] { return turn_.has_value(); }));
    api::http::Turn turn = std::move(*turn_);
    turn_.reset();
    return turn;
  }

  void wait_for_stream() {
    std::unique_lock guard(lock_);
    EXPECT_TRUE(changed_.wait_for(guard, std::chrono::minutes(1), [this] { return is_stream_; }));
  }

  // The client closes its connection.
  void leave() {
    std::function<void()> gone;
    {
      const std::lock_guard guard(lock_);
      gone = gone_;
    }
    ASSERT_TRUE(gone);
    gone();
  }

  // Waits until the answer is whole; ten minutes are far beyond any test, on a busy machine too.
  api::http::Response wait() {
    std::unique_lock guard(lock_);
    EXPECT_TRUE(changed_.wait_for(guard, std::chrono::minutes(10), [this] { return is_whole_; }));
    return head_;
  }

  // Waits until `bytes` stand in what was sent.
  void wait_for(std::string_view bytes) {
    std::unique_lock guard(lock_);
    EXPECT_TRUE(changed_.wait_for(guard, std::chrono::minutes(1), [&] {
      return head_.body.find(bytes) != std::string::npos;
    })) << head_.body;
  }

  [[nodiscard]] bool is_whole() const {
    const std::lock_guard guard(lock_);
    return is_whole_;
  }

 private:
  mutable std::mutex lock_;
  std::condition_variable changed_;
  api::http::Response head_;
  bool is_stream_ = false;
  bool is_whole_ = false;
  std::function<void()> gone_;
  bool has_turn_ = true;
  std::optional<api::http::Turn> turn_;
};

// Keeps records of requests that have ended.
class FakeRecords final : public api::http::RecordSink {
 public:
  void record(const api::http::RequestRecord& request) override {
    const std::lock_guard guard(lock_);
    records_.push_back(request);
    changed_.notify_all();
  }

  // All records, once there are at least `count`.
  std::vector<api::http::RequestRecord> wait(size_t count) {
    std::unique_lock guard(lock_);
    EXPECT_TRUE(changed_.wait_for(guard, std::chrono::minutes(1),
                                  [&] { return records_.size() >= count; }));
    return records_;
  }

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  std::vector<api::http::RequestRecord> records_;
};

// The events of a stream but for the last, "[DONE]"; each valid JSON.
inline std::vector<Json> events_of(std::string_view body) {
  std::vector<Json> events;
  while (!body.empty()) {
    const size_t end = body.find("\n\n");
    EXPECT_NE(end, std::string_view::npos) << body;
    EXPECT_TRUE(body.starts_with("data: ")) << body;
    const std::string_view data = body.substr(6, end - 6);
    body.remove_prefix(std::min(body.size(), end + 2));
    if (data == "[DONE]") {
      EXPECT_TRUE(body.empty()) << "something follows [DONE]: " << body;
      break;
    }
    events.push_back(Json::parse(data));
  }
  return events;
}

struct ServerOptions {
  std::string model_path = {};  // "": the tiny model
  int64_t context = 256;
  int64_t max_sequences = 4;
  int64_t max_open = 16;
  int64_t max_batched_tokens = 512;
  int n_threads = 1;
  bool prefix_cache = true;
  std::string chat_template = {};  // "": the model's
};

class Server {
 public:
  explicit Server(const ServerOptions& options = {}) {
    api::SessionOptions session;
    session.model_path = options.model_path.empty()
                             ? tiny_chat_gguf().write(folder_.path_of("m.gguf"))
                             : options.model_path;
    session.context = options.context;
    session.n_threads = options.n_threads;
    session.max_sequences = options.max_sequences;
    session.max_batched_tokens = options.max_batched_tokens;
    session.prefix_cache = options.prefix_cache;
    session_ = api::Session::open(session);
    engine_ = std::make_unique<api::EngineThread>(session_->engine(), options.max_open);
    const codec::Vocabulary& vocabulary = session_->tokenizer()->vocabulary();
    api::openai::HandlerOptions made;
    made.model_names = {"tiny", "org/other"};
    made.created = 1700000000;
    made.fingerprint = "fp";
    made.end_tokens = session_->end_tokens();
    made.context = session_->context();
    handler_ = std::make_unique<api::openai::OpenAiHandler>(
        *engine_, *session_->tokenizer(),
        options.chat_template.empty()
            ? codec::ChatTemplate::of_model(vocabulary)
            : codec::ChatTemplate::of_source(vocabulary, options.chat_template, "test"),
        made, &records_);
  }

  // Sends a request; its answer comes to the responder.
  std::shared_ptr<FakeResponder> send(std::string_view path, std::string body,
                                      std::string_view key = "", std::string_view id = "r1") {
    auto responder = std::make_shared<FakeResponder>();
    send_to(responder, path, std::move(body), key, id);
    return responder;
  }

  // The same with a responder of the test's.
  void send_to(const std::shared_ptr<FakeResponder>& responder, std::string_view path,
               std::string body, std::string_view key = "", std::string_view id = "r1") {
    api::http::Request request;
    request.method = body.empty() ? "GET" : "POST";
    request.path = path;
    request.body = std::move(body);
    request.id = id;
    request.key = key;
    handler_->handle(std::move(request), responder);
  }

  // What a request of `path` is answered before its body is read.
  std::optional<api::http::Response> refuse_early(std::string_view path) {
    api::http::Request head;
    head.method = "POST";
    head.path = path;
    return handler_->refuse_early(head);
  }

  // A request and its whole answer, which must have `status`.
  Json ask(std::string_view path, const std::string& body, int status = 200) {
    const api::http::Response response = send(path, body)->wait();
    EXPECT_EQ(response.status, status) << body.substr(0, 300) << "\n" << response.body;
    return Json::parse(response.body);
  }

  // A streamed request: its events.
  std::vector<Json> stream(std::string_view path, const std::string& body) {
    Json streamed = Json::parse(body);
    streamed["stream"] = true;
    const api::http::Response response = send(path, streamed.dump())->wait();
    EXPECT_EQ(response.status, 200) << response.body;
    EXPECT_EQ(response.content_type, "text/event-stream");
    EXPECT_TRUE(response.body.ends_with("data: [DONE]\n\n")) << response.body;
    return events_of(response.body);
  }

  // The first choice of a completion, whole and streamed, which must say the same.
  Json complete(const std::string& body) {
    const Json whole = ask("/v1/completions", body)["choices"][0];
    std::string streamed;
    Json finish;
    for (const Json& event : stream("/v1/completions", body)) {
      streamed += event["choices"][0]["text"].get<std::string>();
      finish = event["choices"][0]["finish_reason"];
    }
    EXPECT_EQ(streamed, whole["text"].get<std::string>()) << body;
    EXPECT_EQ(finish, whole["finish_reason"]) << body;
    return whole;
  }

  std::string text(const std::string& body) { return complete(body)["text"].get<std::string>(); }

  api::Session& session() { return *session_; }

  api::EngineThread& engine() { return *engine_; }

  FakeRecords& records() { return records_; }

 private:
  TempFolder folder_;
  FakeRecords records_;
  std::unique_ptr<api::Session> session_;
  std::unique_ptr<api::EngineThread> engine_;
  std::unique_ptr<api::openai::OpenAiHandler> handler_;
};

}  // namespace fathom::test
