// Adapter folders: pairs by module, and every tensor that is none.
#include "weights/adapter.h"

#include <gtest/gtest.h>

#include <string>

#include "support/error_check.h"
#include "support/safetensors_builder.h"
#include "support/temp_folder.h"

namespace fathom::weights {
namespace {

constexpr const char* kConfig =
    R"({"peft_type": "LORA", "r": 2, "lora_alpha": 3, "target_modules": ["q"]})";

class AdapterTest : public testing::Test {
 protected:
  void SetUp() override { folder_.write("adapter_config.json", std::string_view(kConfig)); }

  AdapterTest& add(const std::string& name, std::initializer_list<int64_t> shape) {
    const std::vector<int64_t> dims(shape);
    int64_t n = 1;
    for (const int64_t dim : dims) {
      n *= dim;
    }
    builder_.add(name, dims, std::vector<float>(static_cast<size_t>(n), 0.5F));
    return *this;
  }

  std::unique_ptr<Adapter> open() {
    folder_.write("adapter_model.safetensors", builder_.bytes());
    return open_adapter(folder_.path());
  }

  test::TempFolder folder_;
  test::SafetensorsBuilder builder_;
};

TEST_F(AdapterTest, PairsBelongToModules) {
  add("base_model.model.m.q.lora_A.weight", {2, 4});
  add("base_model.model.m.q.lora_B.weight", {6, 2});
  add("base_model.model.m.k.lora_B.weight", {6, 2});
  const auto adapter = open();
  ASSERT_EQ(adapter->modules.size(), 2U);
  const AdapterMatrices& k = adapter->modules[0];
  EXPECT_EQ(k.module, "m.k");
  EXPECT_EQ(k.a, nullptr);
  EXPECT_NE(k.b, nullptr);
  EXPECT_FALSE(k.is_target);
  const AdapterMatrices& q = adapter->modules[1];
  EXPECT_EQ(q.module, "m.q");
  EXPECT_EQ(q.a->shape, (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(q.b->shape, (std::vector<int64_t>{6, 2}));
  EXPECT_EQ(q.rank, 2);
  EXPECT_DOUBLE_EQ(q.scale, 1.5);
  EXPECT_TRUE(q.is_target);
  EXPECT_TRUE(adapter->others.empty());
}

TEST_F(AdapterTest, TensorsThatAreNoMatrixAreKeptByName) {
  add("base_model.model.rope_freqs.weight", {4});
  add("m.q.lora_A.weight", {2, 4});
  add("base_model.model..lora_A", {2, 4});
  const auto adapter = open();
  EXPECT_TRUE(adapter->modules.empty());
  ASSERT_EQ(adapter->others.size(), 3U);
  EXPECT_EQ(adapter->others[1]->name, "base_model.model.rope_freqs.weight");
}

TEST_F(AdapterTest, TensorsOfOtherKindsAreRefused) {
  add("base_model.model.m.embed.lora_embedding_A", {2, 4});
  test::expect_error([&] { open(); }, ErrorCode::kUnsupported,
                     {"base_model.model.m.embed.lora_embedding_A", "embedding"});
}

TEST_F(AdapterTest, MagnitudesOfDoraAreRefused) {
  add("base_model.model.m.q.lora_magnitude_vector", {4});
  test::expect_error([&] { open(); }, ErrorCode::kUnsupported, {"lora_magnitude_vector", "DoRA"});
}

TEST_F(AdapterTest, AnAdapterOfNoTensorsIsRefused) {
  test::expect_error([&] { open(); }, ErrorCode::kCorruptFile,
                     {folder_.path(), "no tensors", "lora_A and lora_B"});
}

TEST_F(AdapterTest, MissingFilesAreNamed) {
  test::expect_error([&] { open_adapter(folder_.path()); }, ErrorCode::kNotFound,
                     {"adapter_model.safetensors", "adapter_model.bin"});
  const test::TempFolder empty;
  test::expect_error([&] { open_adapter(empty.path()); }, ErrorCode::kNotFound,
                     {"adapter_config.json"});
}

}  // namespace
}  // namespace fathom::weights
