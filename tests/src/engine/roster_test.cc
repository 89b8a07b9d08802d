// Who runs when: order, ageing, seats, pages that run out, deadlines, choices of one prompt. Over
// the toy model, whose answers show whether a sequence was computed from the right pages.
#include "engine/roster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "src/engine/toy_model.h"
#include "support/error_check.h"

namespace fathom::engine {
namespace {

using test::toy_answer;
using test::toy_request;
using test::ToyBench;
using test::ToySink;

void expect_answer(const ToySink& sink, const Request& request, int64_t n_tokens) {
  EXPECT_EQ(sink.ids, toy_answer(request, n_tokens));
  EXPECT_EQ(sink.n_finished, 1);
  EXPECT_EQ(sink.usage.generated_tokens, n_tokens);
}

// Notes the order in which requests get their first token.
class OrderSink final : public ToySink {
 public:
  OrderSink(std::vector<int>& order, int number) : order_(&order), number_(number) {}

  bool on_token(const TokenEvent& event) override {
    if (ids.empty()) {
      order_->push_back(number_);
    }
    return ToySink::on_token(event);
  }

 private:
  std::vector<int>* order_;
  int number_;
};

std::vector<int> order_of(const std::vector<int>& priorities, int64_t aging) {
  ToyBench bench({.max_sequences = 1, .priority_aging = aging});
  std::vector<int> order;
  std::vector<std::unique_ptr<OrderSink>> sinks;
  for (const int priority : priorities) {
    sinks.push_back(std::make_unique<OrderSink>(order, static_cast<int>(sinks.size())));
    Request request = toy_request(5, 1, 4);
    request.priority = priority;
    bench.engine.submit(request, *sinks.back());
    bench.engine.step();  // so that the next one comes a step later
  }
  EXPECT_TRUE(bench.run());
  return order;
}

TEST(Roster, LowerPrioritiesFirstThenInOrderOfArrival) {
  EXPECT_EQ(order_of({0, 0, 0, 0}, 256), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(order_of({5, 1, 0, 1, -1}, 256), (std::vector<int>{0, 4, 2, 1, 3}));
}

// One step of waiting is worth one level here: who came first is never overtaken by one level.
TEST(Roster, WaitingIsWorthLevels) {
  EXPECT_EQ(order_of({5, 1, 0, 0}, 1), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(order_of({5, 9, 0, 0}, 1), (std::vector<int>{0, 2, 3, 1}));
}

// A flood of urgent requests, one each step, and one that is not urgent: 3 levels at 20 steps each
// are 60 steps, and from then on only those before it are served: at most 60 of 3 steps each.
TEST(Roster, NobodyStarves) {
  constexpr int64_t kAging = 20;
  ToyBench bench({.max_sequences = 1, .priority_aging = kAging});
  Request late = toy_request(5, 1, 3);
  late.priority = 3;
  ToySink sink;
  ToySink running;
  bench.engine.submit(toy_request(5, 2, 3), running);
  bench.engine.submit(late, sink);
  std::vector<std::unique_ptr<ToySink>> others;
  int64_t step = 0;
  while (sink.n_finished == 0 && step < 1000) {
    others.push_back(std::make_unique<ToySink>());
    bench.engine.submit(toy_request(5, 3, 3), *others.back());
    bench.engine.step();
    ++step;
  }
  expect_answer(sink, late, 3);
  EXPECT_GT(step, 3 * kAging);              // it did wait for them
  EXPECT_LE(step, 3 + 3 * kAging * 3 + 3);  // the first one, those before it, itself
}

// The first in the queue needs more pages than are left: nobody behind it overtakes.
TEST(Roster, NobodyOvertakesForWantOfPages) {
  ToyBench bench({.max_sequences = 4}, 4);
  std::vector<int> order;
  OrderSink a(order, 0);
  OrderSink b(order, 1);
  OrderSink c(order, 2);
  bench.engine.submit(toy_request(100, 1, 20), a);  // two pages
  bench.engine.step();
  bench.engine.submit(toy_request(190, 2, 2), b);  // three
  bench.engine.submit(toy_request(5, 3, 2), c);    // one, and it is there
  EXPECT_TRUE(bench.run());
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
}

// C42, llama.cpp#23652: pages run out while all generate. The newest gives way and is computed
// again; every answer is the one it would have had alone.
TEST(Roster, AFullPoolPreemptsTheNewest) {
  ToyBench bench({.max_sequences = 3}, 6);
  std::vector<Request> requests;
  std::vector<ToySink> sinks(3);
  for (int32_t i = 0; i < 3; ++i) {
    requests.push_back(toy_request(60, i, 130));  // one page now, three at the end
    bench.engine.submit(requests.back(), sinks[static_cast<size_t>(i)]);
  }
  EXPECT_TRUE(bench.run());
  for (size_t i = 0; i < 3; ++i) {
    expect_answer(sinks[i], requests[i], 130);
    EXPECT_EQ(sinks[i].reason, FinishReason::kLength);
  }
  EXPECT_EQ(sinks[0].usage.n_preemptions, 0);
  EXPECT_GE(sinks[2].usage.n_preemptions, 1);
  EXPECT_EQ(bench.engine.stats().n_preemptions,
            sinks[1].usage.n_preemptions + sinks[2].usage.n_preemptions);
  EXPECT_EQ(bench.pages.n_free(), 6);
}

TEST(Roster, TheLowestPriorityGivesWayFirst) {
  ToyBench bench({.max_sequences = 2}, 4);
  std::vector<Request> requests = {toy_request(60, 1, 130), toy_request(60, 2, 130)};
  requests[0].priority = 1;  // it came first, and counts for less
  std::vector<ToySink> sinks(2);
  for (size_t i = 0; i < 2; ++i) {
    bench.engine.submit(requests[i], sinks[i]);
  }
  EXPECT_TRUE(bench.run());
  EXPECT_EQ(sinks[1].usage.n_preemptions, 0);
  EXPECT_GE(sinks[0].usage.n_preemptions, 1);
  expect_answer(sinks[0], requests[0], 130);
  expect_answer(sinks[1], requests[1], 130);
}

TEST(Roster, DeadlinesEndWhatWaitsAndWhatRuns) {
  ToyBench bench({.max_sequences = 1});
  Request request = toy_request(5, 1, 100);
  request.deadline_s = 2;
  ToySink running;
  ToySink waiting;
  bench.engine.submit(request, running);
  bench.engine.submit(request, waiting);
  for (int i = 0; i < 3; ++i) {
    bench.engine.step();
  }
  bench.time += std::chrono::milliseconds(1999);
  bench.engine.step();
  EXPECT_EQ(running.n_finished, 0);
  bench.time += std::chrono::milliseconds(1);
  EXPECT_FALSE(bench.engine.step());
  EXPECT_EQ(running.reason, FinishReason::kDeadline);
  expect_answer(running, request, 4);  // what there was
  EXPECT_EQ(waiting.reason, FinishReason::kDeadline);
  EXPECT_EQ(waiting.n_finished, 1);
  EXPECT_EQ(waiting.usage.generated_tokens, 0);
  EXPECT_DOUBLE_EQ(waiting.usage.queue_s, 2.0);
  EXPECT_EQ(bench.pages.n_free(), bench.pages.n_pages());
}

TEST(Roster, QueueTimeoutsEndOnlyWhatWaits) {
  ToyBench bench({.max_sequences = 1});
  Request request = toy_request(5, 1, 50);
  request.queue_timeout_s = 2;
  ToySink running;
  ToySink waiting;
  bench.engine.submit(request, running);
  bench.engine.submit(request, waiting);
  bench.engine.step();
  bench.time += std::chrono::seconds(2);
  EXPECT_TRUE(bench.run());
  EXPECT_EQ(waiting.reason, FinishReason::kQueueTimeout);
  EXPECT_TRUE(waiting.ids.empty());
  expect_answer(running, request, 50);
}

// A pre-empted request had its admission: no queue time-out ends it.
TEST(Roster, QueueTimeoutsDoNotEndThePreempted) {
  ToyBench bench({.max_sequences = 2}, 4);
  std::vector<ToySink> sinks(2);
  Request request = toy_request(60, 1, 130);
  request.queue_timeout_s = 1;
  for (ToySink& sink : sinks) {
    bench.engine.submit(request, sink);
  }
  while (bench.engine.step()) {
    bench.time += std::chrono::seconds(1);
  }
  EXPECT_GE(sinks[1].usage.n_preemptions, 1);
  expect_answer(sinks[1], request, 130);
}

// C23: queued, it is never executed; in its prompt, it stops at the next chunk.
TEST(Roster, CancelledWhileQueuedIsNeverExecuted) {
  ToyBench bench({.max_batched_tokens = 32, .max_sequences = 1});
  ToySink first;
  ToySink second;
  const RequestId a = bench.engine.submit(toy_request(400, 1, 4), first);
  const RequestId b = bench.engine.submit(toy_request(300, 2, 4), second);
  bench.engine.step();
  bench.engine.cancel(b);
  bench.engine.step();
  EXPECT_EQ(second.reason, FinishReason::kCancelled);
  EXPECT_EQ(second.n_finished, 1);
  EXPECT_EQ(bench.engine.n_rows_computed(), 64);
  bench.engine.cancel(a);
  EXPECT_FALSE(bench.engine.step());
  EXPECT_EQ(bench.engine.n_rows_computed(), 64);
  EXPECT_EQ(first.reason, FinishReason::kCancelled);
  EXPECT_EQ(bench.pages.n_free(), bench.pages.n_pages());
}

struct Choices {
  explicit Choices(size_t n) : sinks(n) {
    for (ToySink& sink : sinks) {
      pointers.push_back(&sink);
    }
  }

  void expect_answers(Request request, int64_t n_tokens) const {
    for (size_t i = 0; i < sinks.size(); ++i) {
      request.choice = static_cast<uint32_t>(i);
      expect_answer(sinks[i], request, n_tokens);
    }
  }

  std::vector<ToySink> sinks;
  std::vector<TextSink*> pointers;
};

TEST(Roster, ChoicesComputeTheirPromptOnceAndCopyOnWrite) {
  ToyBench bench({.max_batched_tokens = 64, .max_sequences = 4});
  const Request request = toy_request(100, 7, 40);
  Choices choices(4);
  const auto ids = bench.engine.submit_choices(request, choices.pointers);
  EXPECT_EQ(ids, (std::vector<RequestId>{1, 2, 3, 4}));
  bench.engine.step();
  bench.engine.step();
  // The prompt is done: all four have their first token, and hold the same two pages.
  EXPECT_EQ(bench.pages.n_pages() - bench.pages.n_free(), 2);
  EXPECT_EQ(choices.sinks[3].ids.size(), 1U);
  EXPECT_TRUE(bench.run());
  choices.expect_answers(request, 40);
  EXPECT_EQ(bench.engine.stats().n_prompt_rows, 100);
  EXPECT_NE(choices.sinks[0].ids, choices.sinks[1].ids);
  // Three copies of the half page, and for each a page more behind it: 1 + 4 + 4.
  EXPECT_EQ(bench.pages.peak_used(), 9);
  EXPECT_EQ(bench.pages.n_free(), bench.pages.n_pages());
}

// Other requests, too few seats, too few pages: the answers stay the same.
TEST(Roster, ChoicesSurviveEveryShortage) {
  for (const int64_t n_pages : {3, 4, 7, 30}) {
    for (const int64_t max_sequences : {1, 2, 5}) {
      for (const bool prefix_cache : {false, true}) {
        ToyBench bench({.max_batched_tokens = 48,
                        .max_sequences = max_sequences,
                        .prefix_cache = prefix_cache},
                       n_pages);
        const Request request = toy_request(70, 7, 60);
        const Request other = toy_request(30, 8, 80);
        Choices choices(4);
        ToySink before;
        ToySink after;
        bench.engine.submit(other, before);
        bench.engine.submit_choices(request, choices.pointers);
        bench.engine.submit(other, after);
        ASSERT_TRUE(bench.run()) << n_pages << " pages, " << max_sequences << " sequences";
        choices.expect_answers(request, 60);
        expect_answer(before, other, 80);
        expect_answer(after, other, 80);
      }
    }
  }
}

// More choices than seats: the later ones run as seats become free, and take the prompt's pages
// from the cache. Without one they compute it again, to the same bits.
TEST(Roster, ChoicesBeyondTheSeatsShareThePromptsPages) {
  for (const bool prefix_cache : {true, false}) {
    ToyBench bench({.max_batched_tokens = 64, .max_sequences = 2, .prefix_cache = prefix_cache});
    const Request request = toy_request(100, 7, 10);
    Choices choices(6);
    bench.engine.submit_choices(request, choices.pointers);
    EXPECT_TRUE(bench.run());
    choices.expect_answers(request, 10);
    const int64_t again = prefix_cache ? 100 - kPageTokens : 100;
    EXPECT_EQ(bench.engine.stats().n_prompt_rows, 100 + 4 * again);
    EXPECT_EQ(choices.sinks[5].usage.cached_tokens, prefix_cache ? kPageTokens : 0);
  }
}

// The leader ends before its prompt is computed: the others go on without it.
TEST(Roster, ChoicesOutliveTheirLeader) {
  ToyBench bench({.max_batched_tokens = 32, .max_sequences = 3});
  const Request request = toy_request(100, 7, 10);
  Choices choices(3);
  const auto ids = bench.engine.submit_choices(request, choices.pointers);
  bench.engine.step();
  bench.engine.cancel(ids[0]);
  EXPECT_TRUE(bench.run());
  EXPECT_EQ(choices.sinks[0].reason, FinishReason::kCancelled);
  for (uint32_t i = 1; i < 3; ++i) {
    Request one = request;
    one.choice = i;
    expect_answer(choices.sinks[i], one, 10);
  }
  EXPECT_EQ(bench.engine.stats().n_prompt_rows, 32 + 100);
}

// A choice that ends with its first token takes no page from the others.
TEST(Roster, ChoicesMayEndAtOnce) {
  ToyBench bench({.max_sequences = 3});
  const Request request = toy_request(100, 7, 10);
  Choices choices(3);
  choices.sinks[0].stop_after = 1;
  bench.engine.submit_choices(request, choices.pointers);
  EXPECT_TRUE(bench.run());
  EXPECT_EQ(choices.sinks[0].reason, FinishReason::kStop);
  Request second = request;
  second.choice = 1;
  expect_answer(choices.sinks[1], second, 10);
}

TEST(Roster, ARefusedPromptQueuesNoChoice) {
  ToyBench bench({.context = 64});
  Choices choices(2);
  fathom::test::expect_error(
      [&] { bench.engine.submit_choices(toy_request(65, 1, 4), choices.pointers); },
      ErrorCode::kResourceExhausted, {"65", "64"});
  EXPECT_FALSE(bench.engine.step());
  EXPECT_EQ(choices.sinks[0].n_finished + choices.sinks[1].n_finished, 0);
}

}  // namespace
}  // namespace fathom::engine
