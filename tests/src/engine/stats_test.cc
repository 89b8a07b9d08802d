// Counters of the engine, and the phase that a step is in.
#include "engine/stats.h"

#include <gtest/gtest.h>

#include <vector>

#include "src/engine/toy_model.h"

namespace fathom::engine {
namespace {

using test::toy_request;
using test::ToyBench;
using test::ToySink;

TEST(Stats, CountsRowsStepsAndPages) {
  ToyBench bench({.max_batched_tokens = 64, .max_sequences = 1, .prefix_cache = true}, 8);
  ToySink first;
  ToySink second;
  bench.engine.submit(toy_request(100, 1, 5), first);
  bench.engine.submit(toy_request(10, 2, 5), second);
  bench.engine.step();
  EngineStats stats = bench.engine.stats();
  EXPECT_EQ(stats.n_running, 1);
  EXPECT_EQ(stats.n_waiting, 1);
  EXPECT_EQ(stats.n_rows, 64);
  EXPECT_EQ(stats.n_pages, 8);
  EXPECT_EQ(stats.n_pages_used, 1);
  EXPECT_EQ(stats.n_pages_free, 7);
  EXPECT_TRUE(bench.run());
  stats = bench.engine.stats();
  EXPECT_EQ(stats.n_prompt_rows, 110);
  EXPECT_EQ(stats.n_rows, 110 + 4 + 4);
  EXPECT_EQ(stats.n_steps, 2 + 4 + 1 + 4);
  EXPECT_EQ(stats.n_pages_cached, 1);
  EXPECT_EQ(stats.n_pages_used, 0);
  EXPECT_EQ(stats.n_pages_free, 7);
  EXPECT_EQ(stats.prefix.n_inserted, 1);
  EXPECT_EQ(stats.n_running + stats.n_waiting, 0);
}

TEST(Stats, ThePhaseIsSeenFromInside) {
  ToyBench bench({});
  std::vector<StepPhase> phases;
  bench.model.on_forward = [&](const model::StepInput&) { phases.push_back(bench.engine.phase()); };

  class Watcher final : public ToySink {
   public:
    Watcher(Engine& engine, std::vector<StepPhase>& phases) : engine_(&engine), phases_(&phases) {}

    bool on_token(const TokenEvent& event) override {
      phases_->push_back(engine_->phase());
      return ToySink::on_token(event);
    }

   private:
    Engine* engine_;
    std::vector<StepPhase>* phases_;
  };

  Watcher sink(bench.engine, phases);
  bench.engine.submit(toy_request(10, 1, 1), sink);
  EXPECT_TRUE(bench.run());
  EXPECT_EQ(phases, (std::vector<StepPhase>{StepPhase::kForward, StepPhase::kPublish}));
  EXPECT_EQ(bench.engine.phase(), StepPhase::kIdle);
}

TEST(Stats, EveryPhaseAndReasonHasItsName) {
  EXPECT_EQ(name_of(StepPhase::kIdle), "idle");
  EXPECT_EQ(name_of(StepPhase::kPublish), "publish");
  EXPECT_EQ(name_of(FinishReason::kStop), "stop");
  EXPECT_EQ(name_of(FinishReason::kQueueTimeout), "queue_timeout");
}

}  // namespace
}  // namespace fathom::engine
