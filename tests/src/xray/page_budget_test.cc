// Pages from a size or a share of the memory: the arithmetic by hand, and what is refused.
// Read next: src/xray/page_budget.cc.
#include "xray/page_budget.h"

#include <gtest/gtest.h>

#include <string>

#include "support/error_check.h"

namespace fathom::xray {
namespace {

// 3 layers of 2 KV heads of 32: a page of 64 positions takes 3 x 2 x 32 x 2 x 2 B x 64 = 49,152 B.
constexpr int64_t kPageBytes = 49'152;

class PageBudgetTest : public testing::Test {
 protected:
  PageBudgetTest() {
    load_.config.family = "llama";
    load_.config.n_layers = 3;
    load_.config.hidden_size = 128;
    load_.config.n_vocab = 1000;
    load_.config.max_context = 2048;
    model::LayerOptions layer;
    layer.n_heads = 4;
    layer.n_kv_heads = 2;
    layer.head_dim = 32;
    layer.ffn_size = 256;
    load_.config.layers.assign(3, layer);
    load_.weight_bytes = 5'000'000;
    load_.matrix_values = 8'000'000;
    input_ = {.load = &load_,
              .context = 512,
              .max_sequences = 4,
              .limits = {.max_tokens = 64, .max_logits = 4},
              .program_bytes = 10'000'000};
  }

  [[nodiscard]] int64_t rest() const {
    const MemoryPlan plan = make_plan(input_);
    return plan.total_bytes() - plan.bytes_of("kv");
  }

  model::LoadPlan load_;
  PlanInput input_;
};

MemoryLimit plenty() {
  return {.bytes = int64_t{1} << 40, .name = "MemAvailable"};
}

TEST_F(PageBudgetTest, NoWishLeavesTheWholeContextForEach) {
  EXPECT_EQ(pick_pages(input_, {}, plenty()), 0);
  EXPECT_EQ(n_pages_of(input_), 4 * 8);
  EXPECT_EQ(whole_sequences(input_), 4);
}

TEST_F(PageBudgetTest, ASizeGivesItsPages) {
  input_.n_pages =
      pick_pages(input_, {.bytes = 20 * kPageBytes + 1000, .utilization = {}}, plenty());
  EXPECT_EQ(input_.n_pages, 20);
  EXPECT_EQ(whole_sequences(input_), 2);
  EXPECT_EQ(make_plan(input_).bytes_of("kv"), 20 * kPageBytes);
}

TEST_F(PageBudgetTest, AShareCountsAllTheRest) {
  const MemoryLimit limit = {.bytes = 2 * (rest() + 17 * kPageBytes + 10), .name = "cgroup limit"};
  EXPECT_EQ(pick_pages(input_, {.bytes = {}, .utilization = 0.5}, limit), 17);
  // Never more than twice what the sequences can use.
  EXPECT_EQ(pick_pages(input_, {.bytes = {}, .utilization = 0.5}, plenty()), 2 * 4 * 8);
}

TEST_F(PageBudgetTest, TooLittleShowsTheArithmeticAndWhatFits) {
  test::expect_error(
      [&] { pick_pages(input_, {.bytes = 7 * kPageBytes, .utilization = {}}, plenty()); },
      ErrorCode::kOutOfMemory, {"--kv-memory", "7 pages", "context 512 needs 8", "-c 448"});
  const MemoryLimit limit = {.bytes = rest() + 3 * kPageBytes, .name = "MemAvailable"};
  test::expect_error([&] { pick_pages(input_, {.bytes = {}, .utilization = 1.0}, limit); },
                     ErrorCode::kOutOfMemory,
                     {"of the MemAvailable of", "weights 4.8", "scratch", "program 9.5",
                      "3 pages of 0.05 MiB", "needs 8", "-c 192"});
  test::expect_error([&] { pick_pages(input_, {.bytes = 100, .utilization = {}}, plenty()); },
                     ErrorCode::kOutOfMemory, {"0 pages", "no context fits"});
}

TEST_F(PageBudgetTest, MoreThanThereIsIsRefusedWithTheLargestSize) {
  const MemoryLimit limit = {.bytes = rest() + (int64_t{5} << 20), .name = "cgroup limit"};
  test::expect_error(
      [&] { pick_pages(input_, {.bytes = int64_t{6} << 20, .utilization = {}}, limit); },
      ErrorCode::kOutOfMemory,
      {"--kv-memory of 6.0 MiB", "cgroup limit", "largest --kv-memory is 5M"});
}

TEST_F(PageBudgetTest, WishesOutOfRangeAreNamed) {
  test::expect_error([&] { pick_pages(input_, {.bytes = 1000, .utilization = 0.5}, plenty()); },
                     ErrorCode::kInvalidArgument, {"--kv-memory", "--memory-utilization"});
  for (const double share : {0.0, -1.0, 1.01}) {
    test::expect_error([&] { pick_pages(input_, {.bytes = {}, .utilization = share}, plenty()); },
                       ErrorCode::kInvalidArgument, {"--memory-utilization"});
  }
  test::expect_error([&] { pick_pages(input_, {.bytes = 0, .utilization = {}}, plenty()); },
                     ErrorCode::kInvalidArgument, {"--kv-memory"});
}

}  // namespace
}  // namespace fathom::xray
