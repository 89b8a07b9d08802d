// A transport on a free port whose handler a test plays.
// Called by tests of the transport. Read next: api/http/transport.h.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "api/http/front.h"
#include "api/http/transport.h"
#include "src/api/http/fake_handler.h"

namespace fathom::test {

// Keeps what the transport records.
class KeptRecords : public api::http::RecordSink {
 public:
  void record(const api::http::RequestRecord& request) override {
    const std::lock_guard lock(mutex_);
    records_.push_back(request);
  }

  [[nodiscard]] std::vector<api::http::RequestRecord> all() const {
    const std::lock_guard lock(mutex_);
    return records_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<api::http::RequestRecord> records_;
};

// A transport on a free port, ready.
struct TransportRig {
  std::shared_ptr<FakeHandler> handler = std::make_shared<FakeHandler>();
  api::http::Front front;
  std::unique_ptr<KeptRecords> records = std::make_unique<KeptRecords>();
  std::unique_ptr<api::http::Transport> transport;

  static api::http::FrontOptions front_options() {
    return {.cors_origins = {"http://page"}, .version = R"({"version":"1"})", .metrics = [] {
              return "fathom_up 1\n";
            }};
  }

  explicit TransportRig(api::http::TransportOptions options = {},
                        api::http::FrontOptions given = front_options())
      : front(std::move(given)) {
    options.port = 0;
    transport = std::make_unique<api::http::Transport>(options, front, records.get());
    front.set_handler(handler);
    front.set_stage(api::http::Stage::kReady);
    transport->start();
  }

  [[nodiscard]] int port() const { return transport->port(); }

  // Waits until no request is with the handler.
  void wait_for_rest() const {
    for (int i = 0; i < 6000 && transport->n_exchanges() > 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(transport->n_exchanges(), 0);
  }
};

}  // namespace fathom::test
