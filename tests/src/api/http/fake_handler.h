// A handler that echoes, and one whose answers the test itself writes when it likes.
// Called by tests of the transport and the server.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "api/http/exchange.h"

namespace fathom::test {

// One request that /v1/held left to the test.
struct HeldRequest {
  api::http::Request request;
  std::shared_ptr<api::http::Responder> responder;
};

class FakeHandler : public api::http::Handler {
 public:
  [[nodiscard]] std::span<const api::http::Route> routes() const override {
    static constexpr api::http::Route kRoutes[] = {
        {"POST", "/v1/echo"},   {"POST", "/v1/held"},       {"POST", "/v1/throw"},
        {"POST", "/v1/stream"}, {"GET", "/v1/models/{id}"},
    };
    return kRoutes;
  }

  void handle(api::http::Request request,
              std::shared_ptr<api::http::Responder> responder) override {
    if (request.path == "/v1/echo") {
      responder->reply({.content_type = "text/plain", .body = request.body});
    } else if (request.path == "/v1/stream") {
      responder->begin_stream({});
      responder->send("data: 1\n\n");
      responder->send("data: [DONE]\n\n");
      responder->end_stream();
    } else if (request.path == "/v1/throw") {
      throw std::runtime_error("a fault");
    } else if (request.path == "/v1/held") {
      if (request.query == "stream") {
        responder->begin_stream({});
      }
      const auto held = std::make_shared<HeldRequest>(HeldRequest{std::move(request), responder});
      responder->when_turn({.start = [this, held] { hold(std::move(*held)); },
                            .until = std::chrono::steady_clock::now() + patience,
                            .late = [held] { held->responder->reply({.status = 503}); }});
    } else {
      responder->reply({.body = request.path.substr(request.path.rfind('/'))});
    }
  }

  std::optional<api::http::Response> refuse_early(const api::http::Request&) override {
    return is_full ? std::optional(api::http::Response{.status = 429}) : std::nullopt;
  }

  std::atomic<bool> is_full = false;
  std::chrono::milliseconds patience{600'000};  // of requests that wait for their turn

  // The next request of /v1/held.
  HeldRequest take() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::minutes(1), [&] { return !held_.empty(); })) {
      ADD_FAILURE() << "no request came for a minute";
      return {};
    }
    HeldRequest first = std::move(held_.front());
    held_.erase(held_.begin());
    return first;
  }

  // Requests of /v1/held so far.
  int n_held() {
    const std::lock_guard lock(mutex_);
    return n_held_;
  }

 private:
  void hold(HeldRequest held) {
    const std::lock_guard lock(mutex_);
    held_.push_back(std::move(held));
    ++n_held_;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<HeldRequest> held_;
  int n_held_ = 0;
};

// Something that another thread does once.
class Flag {
 public:
  void raise() {
    const std::lock_guard lock(mutex_);
    ++n_;
    changed_.notify_all();
  }

  [[nodiscard]] bool wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(1), [&] { return n_ > 0; });
  }

  [[nodiscard]] int n_raised() {
    const std::lock_guard lock(mutex_);
    return n_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int n_ = 0;
};

}  // namespace fathom::test
