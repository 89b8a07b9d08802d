// Binding adapters: what fits nothing is listed at once, and the plan counts every byte. Numbers
// are compared with peft in tests/parity/lora_test.cc.
#include "model/lora.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/load.h"
#include "support/error_check.h"
#include "support/model_rig.h"
#include "support/safetensors_builder.h"
#include "weights/safetensors.h"

namespace fathom::model {
namespace {

// An adapter in memory; its bytes live as long as it does.
class MadeAdapter {
 public:
  MadeAdapter& add(const std::string& name, std::vector<int64_t> shape) {
    const auto n = static_cast<size_t>(shape.at(0) * shape.at(1));
    return add_values(name, std::move(shape), std::vector<float>(n, 0.25F));
  }

  MadeAdapter& add_values(const std::string& name, std::vector<int64_t> shape,
                          const std::vector<float>& values) {
    builder_.add(name, shape, values);
    return *this;
  }

  // Both matrices of a module with rank 2.
  MadeAdapter& add_pair(const std::string& module, int64_t n_out, int64_t n_in) {
    add(module + ".A", {2, n_in});
    add(module + ".B", {n_out, 2});
    return *this;
  }

  const weights::Adapter& finish() {
    bytes_ = builder_.bytes();
    weights::parse_safetensors(bytes_, "adapter", nullptr, adapter_.tensors);
    adapter_.config.path = "adapter_config.json";
    std::map<std::string, weights::AdapterMatrices> modules;
    for (const auto& [name, tensor] : adapter_.tensors.tensors()) {
      weights::AdapterMatrices& matrices = modules[name.substr(0, name.size() - 2)];
      (name.back() == 'A' ? matrices.a : matrices.b) = &tensor;
      matrices.rank = 2;
    }
    for (auto& [module, matrices] : modules) {
      matrices.module = module;
      adapter_.modules.push_back(matrices);
    }
    return adapter_;
  }

 private:
  test::SafetensorsBuilder builder_;
  std::vector<std::byte> bytes_;
  weights::Adapter adapter_;
};

LoadOptions beside(const weights::Adapter& adapter) {
  LoadOptions options;
  options.adapters.push_back({&adapter, 1.0});
  return options;
}

TEST(Lora, PlanCountsAdaptersOnce) {
  const auto file = test::tiny_gguf({}).parse();
  MadeAdapter made;
  const weights::Adapter& adapter = made.add_pair("model.layers.1.self_attn.q_proj", 64, 64)
                                        .add_pair("model.layers.0.mlp.up_proj", 96, 64)
                                        .finish();
  const LoadPlan plain = plan_load(*file, {});
  const LoadPlan plan = plan_load(*file, beside(adapter));
  EXPECT_EQ(plan.types.lora_rank, 2);
  EXPECT_TRUE(plan.types.lora_on_ffn);
  EXPECT_FALSE(plain.types.lora_on_ffn);
  // A: 2 rows in a group of 16; B: the rank is padded to 32 columns.
  EXPECT_EQ(plan.weight_bytes - plain.weight_bytes, 4 * (2 * 16 * 64 + 64 * 32 + 96 * 32));
  EXPECT_EQ(plan.matrix_values - plain.matrix_values, 2 * (64 + 64) + 2 * (64 + 96));
  LoadOptions merged = beside(adapter);
  merged.merge_adapters = true;
  EXPECT_EQ(plan_load(*file, merged).weight_bytes, plain.weight_bytes);
  EXPECT_EQ(plan_load(*file, merged).types.lora_rank, 0);
}

TEST(Lora, AllThatFitsNothingIsListed) {
  const auto file = test::tiny_gguf({}).parse();
  MadeAdapter made;
  const weights::Adapter& adapter = made.add_pair("model.layers.0.self_attn.q_proj", 32, 64)
                                        .add_pair("model.layers.2.self_attn.q_proj", 64, 64)
                                        .add_pair("lm_head", 160, 64)
                                        .add_pair("model.layers.0.mlp.experts.3.up_proj", 96, 64)
                                        .add("model.layers.0.self_attn.k_proj.A", {3, 64})
                                        .finish();
  test::expect_error(
      [&] { plan_load(*file, beside(adapter)); }, ErrorCode::kCorruptFile,
      {"adapter_config.json: 6 tensors",
       "model.layers.0.self_attn.q_proj.lora_B.weight: found [32, 2], expected [64, 2]",
       "model.layers.2.self_attn.q_proj.A: found [2, 64], expected a q, k, v", "lm_head.A",
       "model.layers.0.mlp.experts.3.up_proj.A: found [2, 64], expected no adapters on experts",
       "model.layers.0.self_attn.k_proj.lora_A.weight: found [3, 64], expected [2, 64]",
       "model.layers.0.self_attn.k_proj.lora_B.weight: found none, expected [32, 2]"});
}

TEST(Lora, ScalesThatMeanNothingAreRefused) {
  const auto file = test::tiny_gguf({}).parse();
  MadeAdapter made;
  const weights::Adapter& adapter =
      made.add_pair("model.layers.1.self_attn.q_proj", 64, 64).finish();
  for (const double scale : {1e30, -1e5, std::nan(""), HUGE_VAL}) {
    LoadOptions options;
    options.adapters.push_back({&adapter, scale});
    test::expect_error([&] { plan_load(*file, options); }, ErrorCode::kInvalidArgument,
                       {"adapter_config.json: found the scale ", "expected -10000 to 10000"});
  }
  for (const double scale : {-2.0, 0.0, 1e4}) {
    LoadOptions options;
    options.adapters.push_back({&adapter, scale});
    EXPECT_NO_THROW(plan_load(*file, options)) << scale;
  }
}

// The base is sound: the message is about the adapter, also where both become one matrix.
TEST(Lora, BadValuesAreTheAdaptersOwn) {
  const auto file = test::tiny_gguf({}).parse();
  for (const float bad : {std::nanf(""), HUGE_VALF}) {
    MadeAdapter made;
    std::vector<float> values(2 * 64, 0.25F);
    values[64 + 3] = bad;
    made.add_pair("model.layers.1.mlp.down_proj", 64, 96);
    made.add_values("model.layers.0.self_attn.q_proj.A", {2, 64}, values);
    made.add("model.layers.0.self_attn.q_proj.B", {64, 2});
    LoadOptions options = beside(made.finish());
    for (const bool merged : {false, true}) {
      options.merge_adapters = merged;
      const LoadPlan plan = plan_load(*file, options);
      MemoryPool pool("weights", static_cast<size_t>(plan.weight_bytes));
      ThreadPool threads(1);
      test::expect_error([&] { load_weights(*file, plan, options, pool, threads, {}); },
                         ErrorCode::kCorruptFile,
                         {"adapter_config.json: tensor 'model.layers.0.self_attn.q_proj.A' row 1 "
                          "of the adapter holds "});
    }
  }
}

// Finite values whose product is not: neither file alone is to blame.
TEST(Lora, OverflowWhileMergingIsNamed) {
  const auto file = test::tiny_gguf({}).parse();
  MadeAdapter made;
  const std::vector<float> huge(2 * 64, 1e30F);
  made.add_values("model.layers.0.self_attn.q_proj.A", {2, 64}, huge);
  made.add_values("model.layers.0.self_attn.q_proj.B", {64, 2}, huge);
  LoadOptions options = beside(made.finish());
  options.merge_adapters = true;
  const LoadPlan plan = plan_load(*file, options);
  MemoryPool pool("weights", static_cast<size_t>(plan.weight_bytes));
  ThreadPool threads(1);
  test::expect_error([&] { load_weights(*file, plan, options, pool, threads, {}); },
                     ErrorCode::kCorruptFile,
                     {"blk.0.attn_q.weight", "once the adapters are added", "--merge-lora"});
}

TEST(Lora, ModulesOfTheBareTrunkAreFound) {
  const auto file = test::tiny_gguf({}).parse();
  MadeAdapter made;
  const weights::Adapter& adapter = made.add_pair("layers.1.mlp.down_proj", 64, 96).finish();
  EXPECT_EQ(plan_load(*file, beside(adapter)).types.lora_rank, 2);
}

TEST(Lora, OnlyFloatsAreMergedInto) {
  test::TinySizes sizes;
  sizes.weight_type = DType::kQ8_0;
  const auto file = test::tiny_gguf(sizes).parse();
  MadeAdapter made;
  LoadOptions options = beside(made.add_pair("model.layers.1.mlp.down_proj", 64, 96).finish());
  EXPECT_NO_THROW(plan_load(*file, options));
  options.merge_adapters = true;
  test::expect_error([&] { plan_load(*file, options); }, ErrorCode::kUnsupported,
                     {"blk.1.ffn_down.weight", "Q8_0", "--lora"});
}

TEST(Lora, MergedBf16StaysBf16) {
  test::TinySizes sizes;
  sizes.weight_type = DType::kBF16;
  const auto file = test::tiny_gguf(sizes).parse();
  MadeAdapter made;
  LoadOptions options = beside(made.add_pair("model.layers.1.mlp.down_proj", 64, 96).finish());
  options.merge_adapters = true;
  const LoadPlan plan = plan_load(*file, options);
  MemoryPool pool("weights", static_cast<size_t>(plan.weight_bytes));
  ThreadPool threads(2);
  const auto weights = load_weights(*file, plan, options, pool, threads, {});
  EXPECT_EQ(weights->layers[1].down.matrix.type, DType::kBF16);
}

}  // namespace
}  // namespace fathom::model
