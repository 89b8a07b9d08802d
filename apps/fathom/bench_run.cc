// One request with nobody listening.
#include "bench_run.h"

#include <chrono>
#include <string>
#include <vector>

#include "base/error.h"

namespace fathom::app {

namespace {

// Takes the tokens and throws them away.
class CountSink final : public engine::TextSink {
 public:
  bool on_token(const engine::TokenEvent&) override { return true; }

  void on_finish(engine::FinishReason reason, const engine::Usage&,
                 std::string_view message) override {
    if (reason == engine::FinishReason::kError) {
      fail(ErrorCode::kInternal, std::string(message));
    }
  }
};

// Ids that are spread over the vocabulary and always the same.
std::vector<int32_t> spread_ids(int64_t count, int64_t n_vocab) {
  std::vector<int32_t> ids(static_cast<size_t>(count));
  uint64_t state = 1;
  for (int32_t& id : ids) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    id = static_cast<int32_t>((state >> 33) % static_cast<uint64_t>(n_vocab));
  }
  return ids;
}

}  // namespace

double run_seconds(api::Session& session, int64_t n_prompt, int64_t n_generate) {
  engine::Request request;
  request.prompt = spread_ids(n_prompt, session.load_plan().config.n_vocab);
  request.sampling.temperature = 0;
  request.max_tokens = n_generate;
  CountSink sink;
  session.engine().submit(std::move(request), sink);
  const auto start = std::chrono::steady_clock::now();
  while (session.engine().step()) {
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace fathom::app
