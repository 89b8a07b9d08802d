// The step loop: answers never depend on company, chunking, cache or pages left by others; every
// request ends with exactly one final event.
#include "engine/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <random>

#include "src/model/parity_files.h"
#include "support/error_check.h"
#include "support/model_rig.h"

namespace fathom::engine {
namespace {

using test::ModelRig;
using test::random_ids;
using test::tiny_gguf;
using test::TinySizes;

// Collects what a request produced.
class Collector final : public TextSink {
 public:
  bool on_token(const TokenEvent& event) override {
    EXPECT_EQ(n_finished, 0);
    ids.push_back(event.id);
    logprobs.push_back(event.sampled->logprob);
    return stop_after < 0 || static_cast<int64_t>(ids.size()) < stop_after;
  }

  void on_finish(FinishReason why, const Usage& use, std::string_view text) override {
    ++n_finished;
    reason = why;
    usage = use;
    message = text;
  }

  std::vector<int32_t> ids;
  std::vector<float> logprobs;
  int64_t stop_after = -1;
  int n_finished = 0;
  FinishReason reason = FinishReason::kError;
  Usage usage;
  std::string message;
};

struct Bench {
  explicit Bench(const EngineOptions& options, int64_t n_pages = 64, int n_threads = 1)
      : rig(tiny_gguf(sizes()).parse(),
            {.n_threads = n_threads,
             .n_pages = n_pages,
             .limits = {.max_tokens = options.max_batched_tokens, .max_logits = 16}}),
        engine(rig.model(), rig.exec(), rig.pages(), rig.scratch(), options) {}

  static TinySizes sizes() {
    TinySizes s;
    s.weight_type = DType::kQ8_0;
    return s;
  }

  void run() {
    while (engine.step()) {
      rig.pages().self_check();
    }
  }

  ModelRig rig;
  Engine engine;
};

Request request(int64_t n_prompt, uint32_t seed, float temperature = 1.2F) {
  Request r;
  r.prompt = random_ids(n_prompt, Bench::sizes().n_vocab, seed);
  r.sampling.temperature = temperature;
  r.sampling.top_k = 0;
  r.sampling.top_p = 1;
  r.sampling.min_p = 0;
  r.sampling.seed = seed;
  r.sampling.n_logprobs = 5;
  r.max_tokens = 12;
  return r;
}

Collector run_alone(const Request& r, const EngineOptions& options = {}, int n_threads = 1) {
  Bench bench(options, 64, n_threads);
  Collector sink;
  bench.engine.submit(r, sink);
  bench.run();
  return sink;
}

void expect_same(const Collector& a, const Collector& b) {
  EXPECT_EQ(a.ids, b.ids);
  EXPECT_EQ(a.logprobs, b.logprobs);  // to the bit
}

// C16, C19: alone, in company, in any chunk, on any number of threads.
TEST(Engine, CompanyChunksAndThreadsChangeNothing) {
  std::vector<Request> requests;
  for (uint32_t i = 0; i < 7; ++i) {
    requests.push_back(request(3 + 11 * i, 100 + i));
  }
  std::vector<Collector> alone;
  for (const Request& r : requests) {
    alone.push_back(run_alone(r));
    EXPECT_EQ(alone.back().ids.size(), 12U);
  }
  for (const int64_t chunk : {1, 8, 32, 512}) {
    for (const int n_threads : {1, 2}) {
      Bench bench({.max_batched_tokens = chunk, .max_sequences = 8}, 64, n_threads);
      std::vector<Collector> sinks(requests.size() * 2);
      for (size_t i = 0; i < sinks.size(); ++i) {
        bench.engine.submit(requests[i % requests.size()], sinks[i]);
      }
      bench.run();
      for (size_t i = 0; i < sinks.size(); ++i) {
        expect_same(sinks[i], alone[i % requests.size()]);
        EXPECT_EQ(sinks[i].n_finished, 1);
      }
    }
  }
}

TEST(Engine, SeedDecidesTheAnswer) {
  Request r = request(5, 42);
  expect_same(run_alone(r), run_alone(r));
  r.sampling.seed = 43;
  EXPECT_NE(run_alone(r).ids, run_alone(request(5, 42)).ids);
}

TEST(Engine, NoCacheComputesEverythingAgainWithTheSameBits) {
  const Request r = request(10, 7, 0);
  const Collector cached = run_alone(r);
  EXPECT_EQ(cached.usage.rows_after_prompt, 11);  // one row for each token after the first
  for (const int64_t chunk : {512, 11, 4}) {
    const Collector recomputed = run_alone(r, {.max_batched_tokens = chunk, .use_kv_cache = false});
    expect_same(cached, recomputed);
    EXPECT_EQ(recomputed.usage.rows_after_prompt,
              11 * 10 + 11 * 12 / 2);  // prompt + i rows in step i
  }
}

TEST(Engine, PagesOfOthersLeaveNoTrace) {
  const Request r = request(70, 5, 0);
  const Collector fresh = run_alone(r);
  Bench bench({});
  for (uint32_t i = 0; i < 3; ++i) {
    Collector other;
    bench.engine.submit(request(90, 50 + i), other);
    bench.run();
    Collector again;
    bench.engine.submit(r, again);
    bench.run();
    expect_same(fresh, again);
  }
  EXPECT_EQ(bench.rig.pages().n_free(), bench.rig.pages().n_pages());
}

// C16 with cached pages: the same bits whether a beginning was computed or taken over.
TEST(Engine, CachedBeginningsChangeNothing) {
  Request longer = request(200, 5);
  const Collector fresh = run_alone(longer);
  Request shorter = longer;
  shorter.prompt.resize(150);
  const Collector fresh_shorter = run_alone(shorter);
  Bench bench({.max_batched_tokens = 48, .prefix_cache = true});
  const auto run = [&](const Request& r) {
    Collector sink;
    bench.engine.submit(r, sink);
    bench.run();
    return sink;
  };
  EXPECT_EQ(run(shorter).usage.cached_tokens, 0);
  const Collector again = run(longer);
  EXPECT_EQ(again.usage.cached_tokens, 128);  // two full pages of the 150 tokens
  expect_same(again, fresh);
  const Collector back = run(shorter);
  EXPECT_EQ(back.usage.cached_tokens, 128);
  expect_same(back, fresh_shorter);
  // A prompt that goes on from an answer finds the answer's pages too.
  Request turn = longer;
  turn.prompt.insert(turn.prompt.end(), fresh.ids.begin(), fresh.ids.end());
  const Collector fresh_turn = run_alone(turn);
  const Collector cached_turn = run(turn);
  EXPECT_EQ(cached_turn.usage.cached_tokens, 192);
  expect_same(cached_turn, fresh_turn);
  // Another salt shares nothing.
  turn.cache_salt = "other";
  EXPECT_EQ(run(turn).usage.cached_tokens, 0);
  bench.engine.prefix_cache()->self_check();
  EXPECT_EQ(bench.engine.prefix_cache()->stats().matched_tokens, 128 + 128 + 192);
}

// Two requests at once: the second takes over what the first has computed by then; and with few
// pages the cache gives way.
TEST(Engine, TheCacheGivesWayToRequests) {
  const Request first = request(130, 5);
  Request other = request(130, 6);
  const Collector alone = run_alone(other);
  Bench bench({.max_sequences = 2, .prefix_cache = true}, 5);
  Collector a;
  bench.engine.submit(first, a);
  bench.run();
  EXPECT_EQ(bench.rig.pages().n_free(), 3);  // two full pages are kept
  Collector b;
  Collector c;
  bench.engine.submit(other, b);  // needs three: all that are free
  bench.engine.submit(other, c);  // waits, or evicts
  bench.run();
  expect_same(b, alone);
  expect_same(c, alone);
  EXPECT_EQ(b.n_finished + c.n_finished, 2);
  bench.engine.prefix_cache()->self_check();
}

TEST(Engine, StopsForEachReason) {
  Request r = request(4, 3, 0);
  const Collector all = run_alone(r);
  EXPECT_EQ(all.reason, FinishReason::kLength);
  EXPECT_EQ(all.usage.prompt_tokens, 4);
  EXPECT_EQ(all.usage.generated_tokens, 12);

  r.end_tokens = {all.ids[5]};
  const Collector ended = run_alone(r);
  EXPECT_EQ(ended.reason, FinishReason::kStop);
  EXPECT_EQ(ended.ids.size(),
            static_cast<size_t>(std::ranges::find(all.ids, all.ids[5]) - all.ids.begin()) + 1);

  Bench bench({});
  Collector stopper;
  stopper.stop_after = 3;
  r.end_tokens = {};
  bench.engine.submit(r, stopper);
  bench.run();
  EXPECT_EQ(stopper.reason, FinishReason::kStop);
  EXPECT_EQ(stopper.ids.size(), 3U);
}

// The last token drawn needs no position: a prompt of n in a context of c gives c - n + 1 tokens.
TEST(Engine, FullContextEndsTheAnswer) {
  for (const int64_t n_prompt : {1, 60, 63, 64}) {
    Request r = request(n_prompt, 8, 0);
    r.max_tokens = -1;
    const Collector sink = run_alone(r, {.context = 64});
    EXPECT_EQ(sink.reason, FinishReason::kLength);
    EXPECT_EQ(static_cast<int64_t>(sink.ids.size()), 64 - n_prompt + 1);
  }
}

TEST(Engine, RefusesBadRequestsAndLivesOn) {
  Bench bench({.context = 64});
  Collector sink;
  test::expect_error([&] { bench.engine.submit(request(65, 1), sink); },
                     ErrorCode::kResourceExhausted, {"65 tokens", "64"});
  Request bad = request(3, 1);
  bad.prompt[1] = 160;
  test::expect_error([&] { bench.engine.submit(bad, sink); }, ErrorCode::kInvalidArgument,
                     {"160", "0 to 159"});
  bad.prompt = {};
  test::expect_error([&] { bench.engine.submit(bad, sink); }, ErrorCode::kInvalidArgument,
                     {"no tokens"});
  bad = request(3, 1);
  bad.sampling.temperature = -1;
  test::expect_error([&] { bench.engine.submit(bad, sink); }, ErrorCode::kInvalidArgument,
                     {"temperature"});
  EXPECT_EQ(sink.n_finished, 0);
  EXPECT_FALSE(bench.engine.step());
  bench.engine.submit(request(3, 1), sink);
  bench.run();
  EXPECT_EQ(sink.n_finished, 1);
}

TEST(Engine, WaitsForPagesAndFinishesAll) {
  Bench bench({.max_sequences = 8}, 4);  // 256 positions in all
  std::vector<Collector> sinks(6);
  for (uint32_t i = 0; i < sinks.size(); ++i) {
    bench.engine.submit(request(100, i), sinks[i]);  // 2 pages each: two at a time
  }
  bench.run();
  for (uint32_t i = 0; i < sinks.size(); ++i) {
    expect_same(sinks[i], run_alone(request(100, i)));
  }
  EXPECT_EQ(bench.rig.pages().peak_used(), 4);
}

TEST(Engine, ShortAnswerTakesFewPages) {
  Bench bench({.context = 2048});
  Collector sink;
  Request r = request(10, 4);
  r.max_tokens = -1;
  for (int32_t id = 0; id < 160; ++id) {
    r.end_tokens.push_back(id);  // whatever comes ends it
  }
  bench.engine.submit(r, sink);
  bench.run();
  EXPECT_EQ(sink.ids.size(), 1U);
  EXPECT_EQ(bench.rig.pages().peak_used(), 1);
}

TEST(Engine, CancelFreesAtTheNextStep) {
  Bench bench({.max_batched_tokens = 16});
  Collector first;
  Collector second;
  Request long_one = request(200, 1);
  long_one.max_tokens = 1000;
  const RequestId id = bench.engine.submit(long_one, first);
  bench.engine.submit(request(5, 2), second);
  bench.engine.step();
  bench.engine.cancel(id);
  bench.engine.cancel(9999);
  bench.run();
  EXPECT_EQ(first.reason, FinishReason::kCancelled);
  EXPECT_EQ(first.n_finished, 1);
  expect_same(second, run_alone(request(5, 2)));
  EXPECT_EQ(bench.rig.pages().n_free(), bench.rig.pages().n_pages());
}

// One sequence meets an infinite activation; the others must not notice.
TEST(Engine, NumericFaultEndsItsOwnerOnly) {
  TinySizes sizes = Bench::sizes();
  ModelRig rig(tiny_gguf(sizes).parse(), {});
  Engine engine(rig.model(), rig.exec(), rig.pages(), rig.scratch(), {});
  // Row 77 of the embedding gets infinite scales, which loading would have refused.
  const quant::PackedMatrix& table = rig.weights().embedding;
  auto* group = const_cast<std::byte*>(table.group(77 / 16));
  for (int block = 0; block < sizes.hidden / 32; ++block) {
    const uint16_t infinite = 0x7c00;
    std::memcpy(group + block * 32 + (77 % 16) * 2, &infinite, 2);
  }
  Request poisoned = request(6, 1);
  poisoned.prompt[3] = 77;
  Request clean = request(6, 2);
  std::ranges::replace(clean.prompt, 77, 78);
  Collector a;
  Collector b;
  engine.submit(poisoned, a);
  engine.submit(clean, b);
  while (engine.step()) {
  }
  EXPECT_EQ(b.n_finished, 1);
  EXPECT_EQ(a.n_finished, 1);
  EXPECT_EQ(a.reason, FinishReason::kError);
  EXPECT_NE(a.message.find("--check-nan"), std::string::npos);
  EXPECT_EQ(b.reason, FinishReason::kLength);
  expect_same(b, run_alone(clean));
}

// Float activations are not looked at on their way: NaN reaches the logits, and no token is drawn
// from them.
TEST(Engine, LogitsThatAreNotFiniteEndTheirOwnerOnly) {
  const auto answer = [](bool poisons, std::array<Collector, 3>& sinks) {
    TinySizes sizes = Bench::sizes();
    sizes.weight_type = DType::kF32;
    ModelRig rig(tiny_gguf(sizes).parse(), {.as_f32 = true, .page_type = PageType::kF32});
    Engine engine(rig.model(), rig.exec(), rig.pages(), rig.scratch(), {});
    if (poisons) {  // column 0 of row 77 of the embedding
      auto* group = const_cast<std::byte*>(rig.weights().embedding.group(77 / 16));
      const float infinite = std::numeric_limits<float>::infinity();
      std::memcpy(group + (77 % 16) * sizeof(float), &infinite, sizeof(float));
    }
    for (size_t i = 0; i < sinks.size(); ++i) {
      Request r = request(6 + static_cast<int64_t>(i), static_cast<uint32_t>(i));
      std::ranges::replace(r.prompt, 77, 78);
      r.sampling.logit_bias = {{77, -1e9F}};
      r.prompt[3] = i == 1 ? 77 : r.prompt[3];
      engine.submit(r, sinks[i]);
    }
    while (engine.step()) {
    }
  };
  std::array<Collector, 3> clean;
  std::array<Collector, 3> sinks;
  answer(false, clean);
  answer(true, sinks);
  EXPECT_EQ(clean[1].reason, FinishReason::kLength);
  EXPECT_EQ(sinks[1].reason, FinishReason::kError);
  EXPECT_TRUE(sinks[1].ids.empty());
  for (const char* part : {"'logits'", "outside the layers", "position 6", "after 0 tokens",
                           "--check-tensors", "--check-nan"}) {
    EXPECT_NE(sinks[1].message.find(part), std::string::npos) << part << sinks[1].message;
  }
  for (const size_t other : {0, 2}) {
    EXPECT_EQ(sinks[other].reason, FinishReason::kLength);
    expect_same(sinks[other], clean[other]);
  }
}

// Dynamic rope: what a request plans to reach chooses its rotations, whoever else is there.
TEST(Engine, RotationsFollowFromTheRequestsOwnLength) {
  const auto run = [](const std::vector<Request>& requests) {
    ModelRig rig(test::parity_file("llama-dynamic"), {});  // made for 16 positions
    Engine engine(rig.model(), rig.exec(), rig.pages(), rig.scratch(), {.context = 48});
    std::vector<Collector> sinks(requests.size());
    for (size_t i = 0; i < requests.size(); ++i) {
      engine.submit(requests[i], sinks[i]);
    }
    while (engine.step()) {
    }
    return sinks;
  };
  std::vector<Request> requests;
  std::vector<Collector> alone;
  for (const int64_t max_tokens : {5, 20, 30}) {
    Request r = request(8, 1, 0);
    r.prompt = random_ids(8, 64, 1);
    r.max_tokens = max_tokens;
    requests.push_back(r);
    alone.push_back(run({r}).front());
  }
  EXPECT_NE(alone[0].logprobs.front(), alone[1].logprobs.front());
  EXPECT_NE(alone[1].logprobs.front(), alone[2].logprobs.front());
  const std::vector<Collector> together = run(requests);
  for (size_t i = 0; i < requests.size(); ++i) {
    expect_same(alone[i], together[i]);
  }
}

// Random arrivals and cancels with the page check after each step.
TEST(Engine, RandomScriptKeepsEveryPromise) {
  std::mt19937 random(3);
  Bench bench({.max_batched_tokens = 24, .max_sequences = 5}, 12);
  std::map<RequestId, uint32_t> seeds;
  std::vector<std::unique_ptr<Collector>> sinks;
  std::vector<std::pair<RequestId, Collector*>> alive;
  for (uint32_t step = 0; step < 300; ++step) {
    if (random() % 4 == 0) {
      sinks.push_back(std::make_unique<Collector>());
      const RequestId id = bench.engine.submit(request(1 + step % 90, step), *sinks.back());
      seeds[id] = step;
      alive.emplace_back(id, sinks.back().get());
    }
    if (random() % 15 == 0 && !alive.empty()) {
      bench.engine.cancel(alive[random() % alive.size()].first);
    }
    bench.engine.step();
    bench.rig.pages().self_check();
  }
  bench.run();
  int n_whole = 0;
  for (const auto& [id, sink] : alive) {
    EXPECT_EQ(sink->n_finished, 1);
    if (sink->reason == FinishReason::kLength && ++n_whole <= 12) {
      expect_same(*sink, run_alone(request(1 + seeds[id] % 90, seeds[id])));
    }
  }
  EXPECT_GT(n_whole, 10);
  EXPECT_EQ(bench.rig.pages().n_free(), bench.rig.pages().n_pages());
}

}  // namespace
}  // namespace fathom::engine
