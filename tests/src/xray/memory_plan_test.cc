// The plan's arithmetic on a made-up model. Read next: xray/memory_plan.h.
#include "xray/memory_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fathom::xray {
namespace {

using testing::HasSubstr;

// 3 layers, 4 heads, 2 KV heads of 32.
model::LoadPlan small_load() {
  model::LoadPlan load;
  load.config.family = "llama";
  load.config.n_layers = 3;
  load.config.hidden_size = 128;
  load.config.n_vocab = 1000;
  load.config.max_context = 2048;
  model::LayerOptions layer;
  layer.n_heads = 4;
  layer.n_kv_heads = 2;
  layer.head_dim = 32;
  layer.ffn_size = 256;
  load.config.layers.assign(3, layer);
  model::RopeOptions rope;
  rope.rotary_dim = 32;
  load.config.ropes.push_back(rope);
  load.types.hidden_in.add(ops::RowForm::kInt8);
  load.types.output_in.add(ops::RowForm::kInt8);
  load.types.down_in.add(ops::RowForm::kInt8);
  load.types.head_in.add(ops::RowForm::kInt8);
  load.weight_bytes = 5'000'000;
  load.matrix_values = 8'000'000;
  return load;
}

PlanInput small_input(const model::LoadPlan& load) {
  return {.load = &load,
          .context = 512,
          .limits = {.max_tokens = 64, .max_logits = 1},
          .engine_bytes = 4096,
          .vocabulary_bytes = 100'000,
          .program_bytes = 10'000'000};
}

TEST(MemoryPlanTest, KvIsExact) {
  const model::LoadPlan load = small_load();
  PlanInput input = small_input(load);
  // 3 layers x 2 heads x 32 x (K, V) x 2 B x 512 tokens
  EXPECT_EQ(make_plan(input).bytes_of("kv"), 3 * 2 * 32 * 2 * 2 * 512);
  input.page_type = PageType::kF32;
  EXPECT_EQ(make_plan(input).bytes_of("kv"), 3 * 2 * 32 * 2 * 4 * 512);
  input.page_type = PageType::kInt8;
  EXPECT_EQ(make_plan(input).bytes_of("kv"), 3 * 2 * (32 + 4) * 2 * 512);
  input.page_type = PageType::kF32;
  input.context = 513;  // one page more
  input.max_sequences = 4;
  EXPECT_EQ(make_plan(input).bytes_of("kv"), 4 * 3 * 2 * 32 * 2 * 4 * 576);
}

TEST(MemoryPlanTest, LinesSumToTheTotal) {
  const model::LoadPlan load = small_load();
  const MemoryPlan plan = make_plan(small_input(load));
  int64_t sum = 0;
  for (const char* pool : {"weights", "kv", "scratch", "vocabulary", "program"}) {
    EXPECT_GT(plan.bytes_of(pool), 0) << pool;
    sum += plan.bytes_of(pool);
  }
  EXPECT_EQ(plan.total_bytes(), sum);
  EXPECT_EQ(plan.bytes_of("nosuch"), 0);
  EXPECT_EQ(plan.bytes_of("weights"), 5'000'000);
}

TEST(MemoryPlanTest, LargestContextFitsAndTheNextDoesNot) {
  const model::LoadPlan load = small_load();
  PlanInput input = small_input(load);
  input.context = 1024;
  const int64_t limit = make_plan(input).total_bytes() + 100;
  EXPECT_EQ(largest_context(input, limit), 1024);
  EXPECT_EQ(largest_context(input, 1'000'000), 0);
  EXPECT_EQ(largest_context(input, int64_t{1} << 40), 2048);  // the model's own
  input.context = 100'000;  // asked for more than the model's: what fits is said all the same
  EXPECT_EQ(largest_context(input, int64_t{1} << 40), 100'000);
  input.context = 4096;
  const int64_t larger = make_plan(input).total_bytes();
  input.context = 100'000;
  EXPECT_EQ(largest_context(input, larger), 4096);
}

TEST(MemoryPlanTest, TheRefusalTellsSumLimitAndWayOut) {
  const model::LoadPlan load = small_load();
  const MemoryPlan plan = make_plan(small_input(load));
  const std::string message = describe_excess(plan, 12 << 20, "MemAvailable", 192);
  for (const char* part :
       {"context 512", "weights 4.8", "kv 0.4", "MemAvailable is 12.0 MiB", "-c 192"}) {
    EXPECT_THAT(message, HasSubstr(part));
  }
  EXPECT_THAT(describe_excess(plan, 0, "MemAvailable", 0), HasSubstr("no context fits"));
}

}  // namespace
}  // namespace fathom::xray
