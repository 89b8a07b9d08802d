// C14: an answer that goes on when the context is full: to its own limit, as behind the tokens that
// were kept, whoever else runs; and nothing of it is left afterwards.
// Read next: engine/sequence.h (shift).
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "support/model_rig.h"

namespace fathom::engine {
namespace {

constexpr int64_t kContext = 64;

class Sink final : public TextSink {
 public:
  bool on_token(const TokenEvent& event) override {
    ids.push_back(event.id);
    logprobs.push_back(event.sampled->logprob);
    return true;
  }

  void on_finish(FinishReason why, const Usage& use, std::string_view /*message*/) override {
    reason = why;
    usage = use;
  }

  std::vector<int32_t> ids;
  std::vector<float> logprobs;
  FinishReason reason = FinishReason::kError;
  Usage usage;
};

struct Bench {
  explicit Bench(EngineOptions options = {.max_batched_tokens = 512}, int64_t n_pages = 16)
      : rig(test::tiny_gguf({}).parse(),
            {.n_pages = n_pages,
             .limits = {.max_tokens = options.max_batched_tokens, .max_logits = 16}}),
        engine(rig.model(), rig.exec(), rig.pages(), rig.scratch(), with_context(options)) {}

  static EngineOptions with_context(EngineOptions options) {
    options.context = kContext;
    return options;
  }

  Sink run(const Request& request) {
    Sink sink;
    engine.submit(request, sink);
    while (engine.step()) {
      rig.pages().self_check();
    }
    return sink;
  }

  test::ModelRig rig;
  Engine engine;
};

Request shifting(int64_t n_prompt, int64_t n_keep, float temperature = 0) {
  Request request;
  request.prompt = test::random_ids(n_prompt, test::TinySizes{}.n_vocab, 7);
  request.sampling.temperature = temperature;
  request.sampling.top_k = 0;
  request.sampling.top_p = 1;
  request.sampling.min_p = 0;
  request.sampling.seed = 3;
  request.sampling.n_logprobs = 2;
  request.max_tokens = 200;
  request.context_shift = true;
  request.n_keep = n_keep;
  return request;
}

TEST(ContextShift, GoesOnToItsOwnLimit) {
  Bench bench;
  const Sink sink = bench.run(shifting(20, 4));
  EXPECT_EQ(sink.ids.size(), 200U);
  EXPECT_EQ(sink.reason, FinishReason::kLength);
  EXPECT_EQ(sink.usage.generated_tokens, 200);
  EXPECT_EQ(sink.usage.prompt_tokens, 20);
  // The context is full after 45 tokens; each shift drops (64 - 4) / 2 = 30: 45, 75, ..., 195.
  EXPECT_EQ(sink.usage.n_shifts, 6);
  EXPECT_EQ(bench.engine.stats().n_context_shifts, 6);
  EXPECT_EQ(bench.rig.pages().n_free(), bench.rig.pages().n_pages());
  Request without = shifting(20, 0);
  without.context_shift = false;
  const Sink cut = bench.run(without);
  EXPECT_EQ(cut.ids.size(), 45U);
  EXPECT_EQ(cut.reason, FinishReason::kLength);
  EXPECT_EQ(cut.usage.n_shifts, 0);
}

// What is left is all that the model sees: a request of just those tokens goes on alike.
TEST(ContextShift, GoesOnAsBehindTheKeptTokensAlone) {
  Bench bench;
  const Request request = shifting(20, 4);
  const Sink sink = bench.run(request);
  std::vector<int32_t> all = request.prompt;
  all.insert(all.end(), sink.ids.begin(), sink.ids.begin() + 45);
  Request rest = request;
  rest.context_shift = false;
  rest.n_keep = 0;
  rest.prompt.assign(all.begin(), all.begin() + 4);
  rest.prompt.insert(rest.prompt.end(), all.begin() + 4 + 30, all.end());
  ASSERT_EQ(rest.prompt.size(), 35U);
  const Sink tail = bench.run(rest);
  ASSERT_EQ(tail.ids.size(), 30U);
  EXPECT_TRUE(std::equal(tail.ids.begin(), tail.ids.end(), sink.ids.begin() + 45));
  EXPECT_TRUE(std::equal(tail.logprobs.begin(), tail.logprobs.end(), sink.logprobs.begin() + 45));
}

TEST(ContextShift, CompanyChunksAndPreemptionChangeNothing) {
  const std::vector<Request> requests = {shifting(20, 4, 1.2F), shifting(64, 63, 1.2F),
                                         shifting(1, 0, 1.2F), shifting(30, 40, 1.2F)};
  std::vector<Sink> alone;
  for (const Request& request : requests) {
    Bench bench;
    alone.push_back(bench.run(request));
  }
  for (const bool prefix_cache : {false, true}) {
    for (const int64_t n_pages : {1, 3, 16}) {
      Bench bench({.max_batched_tokens = 7,
                   .max_sequences = 4,
                   .prefix_cache = prefix_cache,
                   .preempt_every = 50,
                   .check_pages = true},
                  n_pages);
      std::vector<Sink> sinks(requests.size());
      for (size_t i = 0; i < requests.size(); ++i) {
        bench.engine.submit(requests[i], sinks[i]);
      }
      while (bench.engine.step()) {
        bench.rig.pages().self_check();
      }
      for (size_t i = 0; i < requests.size(); ++i) {
        EXPECT_EQ(sinks[i].ids, alone[i].ids) << i << ", " << n_pages << " pages";
        EXPECT_EQ(sinks[i].logprobs, alone[i].logprobs) << i;
        EXPECT_EQ(sinks[i].usage.n_shifts, alone[i].usage.n_shifts) << i;
      }
    }
  }
}

// The next request on the same engine is answered as by a fresh one.
TEST(ContextShift, LeavesNothingBehind) {
  Request other = shifting(40, 0);
  other.prompt = test::random_ids(40, test::TinySizes{}.n_vocab, 99);
  other.context_shift = false;
  Bench fresh;
  const Sink expected = fresh.run(other);
  Bench used({.max_batched_tokens = 512, .prefix_cache = true});
  used.run(shifting(20, 4));
  const Sink found = used.run(other);
  EXPECT_EQ(found.ids, expected.ids);
  EXPECT_EQ(found.logprobs, expected.logprobs);
}

}  // namespace
}  // namespace fathom::engine
