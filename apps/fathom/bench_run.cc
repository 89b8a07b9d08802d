// One request with nobody listening.
#include "bench_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.h"

namespace fathom::app {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Counts the tokens and throws them away.
class CountSink final : public engine::TextSink {
 public:
  [[nodiscard]] int64_t count() const { return count_; }

  bool on_token(const engine::TokenEvent&) override {
    ++count_;
    return true;
  }

  void on_finish(engine::FinishReason reason, const engine::Usage&,
                 std::string_view message) override {
    if (reason == engine::FinishReason::kError) {
      fail(ErrorCode::kInternal, std::string(message));
    }
  }

 private:
  int64_t count_ = 0;
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

engine::Request greedy_request(api::Session& session, int64_t n_prompt, int64_t n_generate) {
  engine::Request request;
  request.prompt = spread_ids(n_prompt, session.load_plan().config.n_vocab);
  request.sampling.temperature = 0;
  request.max_tokens = n_generate;
  return request;
}

// Tokens that the first sequence may have when the last one begins: prompts are read in chunks.
int64_t tokens_ahead(const BenchFlags& flags) {
  constexpr int64_t kLeastChunk = 256;
  return flags.n_sequences * (2 + flags.depth / kLeastChunk);
}

}  // namespace

int64_t decode_context(const BenchFlags& flags) {
  return std::max<int64_t>(1, flags.depth) + flags.n_generate + tokens_ahead(flags);
}

DecodeSeconds decode_seconds(api::Session& session, const BenchFlags& flags) {
  std::vector<CountSink> sinks(static_cast<size_t>(flags.n_sequences));
  for (CountSink& sink : sinks) {
    session.engine().submit(greedy_request(session, std::max<int64_t>(1, flags.depth),
                                           flags.n_generate + tokens_ahead(flags)),
                            sink);
  }
  const auto have_begun = [&] {
    return std::all_of(sinks.begin(), sinks.end(),
                       [](const auto& sink) { return sink.count() > 0; });
  };
  const auto total = [&] {
    return std::accumulate(sinks.begin(), sinks.end(), int64_t{0},
                           [](int64_t sum, const auto& sink) { return sum + sink.count(); });
  };
  DecodeSeconds seconds;
  auto start = Clock::now();
  while (!have_begun() && session.engine().step()) {
  }
  seconds.prompts = seconds_since(start);
  const int64_t before = total();
  start = Clock::now();
  for (int64_t i = 0; i < flags.n_generate; ++i) {
    session.engine().step();
  }
  seconds.decode = seconds_since(start);
  if (total() - before != flags.n_sequences * flags.n_generate) {
    fail(ErrorCode::kInternal, fmt::format("bench: {} steps of {} sequences gave {} tokens",
                                           flags.n_generate, flags.n_sequences, total() - before));
  }
  while (session.engine().step()) {
  }
  return seconds;
}

double run_seconds(api::Session& session, int64_t n_prompt, int64_t n_generate) {
  CountSink sink;
  session.engine().submit(greedy_request(session, n_prompt, n_generate), sink);
  const auto start = Clock::now();
  while (session.engine().step()) {
  }
  return seconds_since(start);
}

}  // namespace fathom::app
