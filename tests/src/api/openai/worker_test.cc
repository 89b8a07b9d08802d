// One thing after the other. Read next: api/openai/worker.h.
#include "api/openai/worker.h"

#include <gtest/gtest.h>

#include <future>
#include <vector>

namespace fathom::api::openai {
namespace {

TEST(WorkerTest, JobsRunInOrderAndAllBeforeTheEnd) {
  std::vector<int> done;
  Worker worker;
  for (int i = 0; i < 1000; ++i) {
    worker.post([&done, i] { done.push_back(i); });
  }
  worker.stop();
  ASSERT_EQ(done.size(), 1000U);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(done[static_cast<size_t>(i)], i);
  }
}

TEST(WorkerTest, AfterTheEndJobsAreDropped) {
  Worker worker;
  worker.stop();
  bool has_run = false;
  worker.post([&] { has_run = true; });
  worker.stop();
  EXPECT_FALSE(has_run);
}

TEST(WorkerTest, JobsMayPostOthers) {
  Worker worker;
  std::promise<void> second;
  worker.post([&] { worker.post([&] { second.set_value(); }); });
  second.get_future().wait();
}

}  // namespace
}  // namespace fathom::api::openai
