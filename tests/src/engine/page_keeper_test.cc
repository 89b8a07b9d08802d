// Pages that several requests share: beginnings computed once, however late they are found; the
// debug mode that names whose page it was.
#include "engine/page_keeper.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/engine/toy_model.h"

namespace fathom::engine {
namespace {

using test::toy_answer;
using test::toy_request;
using test::ToyBench;
using test::ToySink;

std::vector<Request> with_common_beginning(int64_t n_common, int64_t n_own, int32_t n) {
  std::vector<Request> requests;
  for (int32_t i = 0; i < n; ++i) {
    Request request = toy_request(n_common + n_own, 3, 5);
    const Request own = toy_request(n_own, 100 + i, 5);
    std::ranges::copy(own.prompt, request.prompt.begin() + n_common);
    requests.push_back(request);
  }
  return requests;
}

// All come at once, so nothing is cached yet: the first computes the common pages, the others wait
// for each and compute only what is their own.
TEST(PageKeeper, ACommonBeginningIsComputedOnceAlsoByThoseWhoComeTogether) {
  for (const int64_t chunk : {16, 50, 512}) {
    ToyBench bench({.max_batched_tokens = chunk, .max_sequences = 8, .prefix_cache = true}, 40);
    const auto requests = with_common_beginning(200, 30, 8);
    std::vector<ToySink> sinks(8);
    for (size_t i = 0; i < 8; ++i) {
      bench.engine.submit(requests[i], sinks[i]);
    }
    ASSERT_TRUE(bench.run());
    // 192 of the 200 are full pages.
    EXPECT_EQ(bench.engine.stats().n_prompt_rows, 230 + 7 * (230 - 192)) << "chunks of " << chunk;
    for (size_t i = 0; i < 8; ++i) {
      EXPECT_EQ(sinks[i].ids, toy_answer(requests[i], 5));
      EXPECT_EQ(sinks[i].usage.cached_tokens, i == 0 ? 0 : 192);
      EXPECT_EQ(sinks[i].usage.cache_end,
                i == 0 ? kv::CacheEnd::kNotSeen : kv::CacheEnd::kEndOfPrompt);
    }
    bench.engine.prefix_cache()->self_check();
    EXPECT_EQ(bench.engine.stats().prefix.matched_tokens, 7 * 192);
    EXPECT_EQ(bench.engine.stats().prefix.n_hits, 7);
    EXPECT_EQ(bench.engine.stats().prefix.n_asked, 8);
  }
}

// Fast prompts: a second turn contains the first one's answer, which was computed exactly, as
// prompt. Only pages of the first prompt may serve it, also after pre-emptions.
TEST(PageKeeper, FastPromptsShareNoPagesOfAnswers) {
  for (const int64_t preempt_every : {0, 3}) {
    ToyBench bench({.max_batched_tokens = 50,
                    .max_sequences = 4,
                    .prefix_cache = true,
                    .arithmetic = kv::kFastArithmetic,
                    .preempt_every = preempt_every},
                   40);
    const Request first = toy_request(100, 1, 140);
    ToySink first_sink;
    bench.engine.submit(first, first_sink);
    ASSERT_TRUE(bench.run());
    EXPECT_EQ(first_sink.ids, toy_answer(first, 140, true));
    EXPECT_NE(first_sink.ids, toy_answer(first, 140));
    Request second = first;
    std::ranges::copy(first_sink.ids, std::back_inserter(second.prompt));
    second.max_tokens = 5;
    std::vector<ToySink> sinks(3);
    for (ToySink& sink : sinks) {
      bench.engine.submit(second, sink);
    }
    ASSERT_TRUE(bench.run());
    for (const ToySink& sink : sinks) {
      EXPECT_EQ(sink.ids, toy_answer(second, 5, true));
    }
    EXPECT_EQ(sinks[0].usage.cached_tokens, 64);
    // The first again: its prompt's whole page, none of those that the second left behind it.
    ToySink again;
    bench.engine.submit(first, again);
    ASSERT_TRUE(bench.run());
    EXPECT_EQ(again.ids, first_sink.ids);
    EXPECT_EQ(again.usage.cached_tokens, 64);
    bench.engine.prefix_cache()->self_check();
  }
}

TEST(PageKeeper, AnotherSaltSharesNothing) {
  ToyBench bench({.max_sequences = 2, .prefix_cache = true});
  Request request = toy_request(130, 1, 4);
  std::vector<ToySink> sinks(4);
  const std::vector<std::string> salts = {"alice", "bob", "alice", ""};
  for (size_t i = 0; i < 4; ++i) {
    request.cache_salt = salts[i];
    bench.engine.submit(request, sinks[i]);
    EXPECT_TRUE(bench.run());
  }
  EXPECT_EQ(sinks[1].usage.cached_tokens, 0);
  EXPECT_EQ(sinks[2].usage.cached_tokens, 128);
  EXPECT_EQ(sinks[3].usage.cached_tokens, 0);
}

TEST(PageKeeper, TellsWhyNoMoreWasCached) {
  ToyBench bench({.max_sequences = 1, .prefix_cache = true}, 4);
  const auto end_of = [&](const Request& request) {
    ToySink sink;
    bench.engine.submit(request, sink);
    EXPECT_TRUE(bench.run());
    return sink.usage;
  };
  const Request whole = toy_request(128, 1, 4);
  EXPECT_EQ(end_of(whole).cache_end, kv::CacheEnd::kNotSeen);
  EXPECT_EQ(end_of(whole).cache_end, kv::CacheEnd::kLastToken);
  EXPECT_EQ(end_of(whole).cached_tokens, 64);
  EXPECT_EQ(end_of(toy_request(130, 1, 4)).cache_end, kv::CacheEnd::kEndOfPrompt);
  EXPECT_EQ(end_of(toy_request(200, 2, 4)).cache_end, kv::CacheEnd::kNotSeen);  // takes all pages
  EXPECT_EQ(end_of(whole).cache_end, kv::CacheEnd::kEvicted);
}

// Pages of a pre-empted sequence stay in the cache as long as nobody needs them.
TEST(PageKeeper, ThePreemptedFindTheirPagesAgain) {
  const Request request = toy_request(60, 1, 150);
  for (const bool prefix_cache : {false, true}) {
    ToyBench bench({.max_sequences = 2, .prefix_cache = prefix_cache}, 6);
    std::vector<ToySink> sinks(2);
    Request other = toy_request(60, 2, 150);
    bench.engine.submit(request, sinks[0]);
    bench.engine.submit(other, sinks[1]);
    ASSERT_TRUE(bench.run());
    EXPECT_EQ(sinks[0].ids, toy_answer(request, 150));
    EXPECT_EQ(sinks[1].ids, toy_answer(other, 150));
    EXPECT_GE(sinks[1].usage.n_preemptions, 1);
    EXPECT_EQ(sinks[1].usage.cached_tokens, 0);  // its own pages do not count
  }
}

// A pool that hands a page out a second time while its owner still has it.
class TwiceGivingPool final : public kv::PagePool {
 public:
  using kv::PagePool::PagePool;

  int32_t allocate(const kv::PageHeader& header, kv::PageOwner owner) override {
    if (owner == victim) {
      return stolen;
    }
    return kv::PagePool::allocate(header, owner);
  }

  kv::PageOwner victim = 0;
  int32_t stolen = -1;
};

// The planted violation: with checks, the request that would read a foreign page ends before it
// does, and its neighbour does not notice.
TEST(PageKeeper, AForeignPageIsNeverReadWhereItIsChecked) {
  MemoryPool memory("kv", static_cast<size_t>(kv::pool_bytes(test::kToyShape, 8)));
  MemoryPool scratch("scratch", 1U << 20U);
  TwiceGivingPool pages(memory, test::kToyShape, 8);
  test::ToyModel model(pages, {.max_tokens = 512, .max_logits = 8});
  Engine engine(model, pages, scratch, {.check_pages = true});
  int64_t n_rows = 0;
  model.on_forward = [&](const model::StepInput& input) {
    n_rows += static_cast<int64_t>(input.token_ids.size());
  };
  const Request request = toy_request(20, 1, 10);
  ToySink owner;
  ToySink thief;
  const RequestId first = engine.submit(request, owner);
  engine.step();
  pages.stolen = engine.sequences()[0].pages[0];
  pages.victim = engine.submit(toy_request(20, 2, 10), thief);
  while (engine.step()) {
  }
  EXPECT_EQ(thief.reason, FinishReason::kError);
  EXPECT_TRUE(thief.ids.empty());
  EXPECT_NE(thief.message.find("request " + std::to_string(first)), std::string::npos)
      << thief.message;
  EXPECT_NE(thief.message.find("KV page"), std::string::npos);
  EXPECT_EQ(owner.ids, toy_answer(request, 10));
  EXPECT_EQ(n_rows, 20 + 9);  // of the thief none
}

TEST(PageKeeper, ChecksFindNothingInOrdinaryUse) {
  ToyBench bench(
      {.max_batched_tokens = 32, .max_sequences = 4, .prefix_cache = true, .check_pages = true},
      10);
  const auto requests = with_common_beginning(100, 40, 6);
  std::vector<ToySink> sinks(6);
  for (size_t i = 0; i < 6; ++i) {
    bench.engine.submit(requests[i], sinks[i]);
  }
  ASSERT_TRUE(bench.run());
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(sinks[i].ids, toy_answer(requests[i], 5));
  }
}

}  // namespace
}  // namespace fathom::engine
