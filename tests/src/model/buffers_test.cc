// What is counted is what is taken, for every kind of block; what a model does not need is not
// there.
#include "model/buffers.h"

#include <gtest/gtest.h>

#include "model/load.h"
#include "src/model/made_file.h"
#include "src/model/parity_files.h"

namespace fathom::model {
namespace {

LoadPlan plan_of(const char* name, bool as_f32 = false) {
  LoadOptions options;
  options.as_f32 = as_f32;
  return plan_load(*test::parity_file(name), options);
}

StepBuffers take(const LoadPlan& plan, const StepLimits& limits) {
  const size_t bytes = step_buffer_bytes(plan.config, plan.types, limits);
  MemoryPool pool("scratch", bytes);
  StepBuffers buffers = take_step_buffers(pool, plan.config, plan.types, limits);
  EXPECT_EQ(pool.used_bytes(), bytes);
  return buffers;
}

TEST(Buffers, CountedBytesAreTakenBytes) {
  for (const char* name : test::kEveryBlock) {
    for (const bool as_f32 : {false, true}) {
      const LoadPlan plan = plan_of(name, as_f32);
      SCOPED_TRACE(name);
      take(plan, {.max_tokens = 1, .max_logits = 1});
      take(plan, {.max_tokens = 37, .max_logits = 5});
    }
  }
}

TEST(Buffers, GrowWithTheirLimits) {
  const LoadPlan plan = plan_of("llama");
  const auto bytes = [&](int64_t n_tokens, int64_t n_logits) {
    return step_buffer_bytes(plan.config, plan.types,
                             {.max_tokens = n_tokens, .max_logits = n_logits});
  };
  EXPECT_LT(bytes(8, 1), bytes(16, 1));
  EXPECT_LT(bytes(8, 1), bytes(8, 2));
}

TEST(Buffers, AdaptersTakeTheirOwn) {
  LoadPlan plan = plan_of("llama");
  const StepLimits limits = {.max_tokens = 8, .max_logits = 1};
  const size_t without = step_buffer_bytes(plan.config, plan.types, limits);
  EXPECT_EQ(take(plan, limits).low_rank.data, nullptr);
  plan.types.lora_rank = 4;
  plan.types.low_rank_in.add(ops::RowForm::kF32);
  const StepBuffers with = take(plan, limits);
  EXPECT_EQ(with.low_rank.n_cols, 4);
  EXPECT_EQ(with.gate.data, nullptr);
  EXPECT_GT(step_buffer_bytes(plan.config, plan.types, limits), without);
  plan.types.lora_on_ffn = true;
  EXPECT_EQ(take(plan, limits).gate.n_cols, plan.config.layers.front().ffn_size);
}

TEST(Buffers, ADenseModelHasNoOthers) {
  const StepBuffers b = take(plan_of("llama"), {.max_tokens = 8, .max_logits = 2});
  EXPECT_EQ(b.q.n_cols, 32);
  EXPECT_EQ(b.k.n_cols, 16);
  EXPECT_EQ(b.v.n_cols, 16);
  EXPECT_EQ(b.last.n_rows, 2);
  EXPECT_EQ(b.branch.data, nullptr);
  EXPECT_EQ(b.embedded.data, nullptr);
  EXPECT_EQ(b.projected.data, nullptr);
  EXPECT_EQ(b.q_latent.data, nullptr);
  EXPECT_EQ(b.router_logits.data, nullptr);
  EXPECT_TRUE(b.expert_ids.empty());
  EXPECT_EQ(b.ffn_in.n_cols(), 0);
  EXPECT_EQ(b.rope_cos.size(), 1U);
}

TEST(Buffers, EachKindHasItsOwn) {
  const StepLimits limits = {.max_tokens = 8, .max_logits = 2};
  const StepBuffers parallel = take(plan_of("gpt_neox"), limits);
  EXPECT_EQ(parallel.ffn_in.n_cols(), 32);
  EXPECT_EQ(take(plan_of("cohere"), limits).ffn_in.n_cols(), 0);  // one norm for both
  EXPECT_EQ(take(plan_of("exaone4"), limits).branch.n_cols, 32);
  const StepBuffers projected = take(plan_of("opt-350m"), limits);
  EXPECT_EQ(projected.embedded.n_cols, 64);
  EXPECT_EQ(projected.projected.n_rows, 2);
  EXPECT_TRUE(projected.rope_cos.empty());
  EXPECT_EQ(take(plan_of("gemma3_text"), limits).rope_cos.size(), 2U);

  const StepBuffers latent = take(plan_of("deepseek_v3"), limits);  // 4 heads, rank 32, rope 8
  EXPECT_EQ(latent.q_latent.n_cols, 32);
  EXPECT_EQ(latent.q_absorbed.n_cols, 4 * 40);
  EXPECT_EQ(latent.k.n_cols, 40);
  EXPECT_EQ(latent.v.data, nullptr);
  EXPECT_EQ(latent.attended.n_cols, 4 * 32);
  EXPECT_EQ(latent.values.n_cols, 4 * 8);
  EXPECT_EQ(latent.attended_packed.n_cols(), 4 * 8);
  EXPECT_EQ(latent.router_logits.n_cols, 8);
  EXPECT_EQ(latent.expert_out.n_rows, 8 * 3);
  EXPECT_EQ(latent.expert_ids.size(), 24U);
  EXPECT_EQ(latent.first_rows.size(), 9U);
  EXPECT_EQ(latent.shared_out.n_cols, 32);
  EXPECT_EQ(latent.shared_gate.data, nullptr);
  EXPECT_EQ(take(plan_of("qwen2_moe"), limits).shared_gate.n_cols, 1);
  EXPECT_EQ(take(plan_of("mixtral"), limits).shared_out.data, nullptr);
}

TEST(Buffers, AStepSeesItsRowsOnly) {
  const LoadPlan plan = plan_of("llama");
  const StepLimits limits = {.max_tokens = 8, .max_logits = 2};
  MemoryPool pool("scratch", step_buffer_bytes(plan.config, plan.types, limits));
  StepBuffers b = take_step_buffers(pool, plan.config, plan.types, limits);
  cut_to_step(b, 3, 1);
  EXPECT_EQ(b.x.n_rows, 3);
  EXPECT_EQ(b.attended.n_rows, 3);
  EXPECT_EQ(b.last.n_rows, 1);
  EXPECT_EQ(b.branch.n_rows, 0);  // not there
  cut_to_step(b, 8, 2);
  EXPECT_EQ(b.x.n_rows, 8);
}

}  // namespace
}  // namespace fathom::model
