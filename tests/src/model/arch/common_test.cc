// What all decoders share: sizes and their defaults, rope under the keys of both formats, refusals.
#include "model/arch/common.h"

#include <gtest/gtest.h>

#include "src/model/arch/configs.h"
#include "support/error_check.h"

namespace fathom::model {
namespace {

using test::expect_error;
using test::gguf_config;
using test::hf_config;

constexpr char kClass[] = "LlamaForCausalLM";

TEST(ArchCommon, BothFormatsGiveTheSameSizes) {
  for (const auto& md : {hf_config(kClass), gguf_config("llama")}) {
    const ModelConfig config = read_common_config(md);
    EXPECT_EQ(config.n_layers, 4);
    EXPECT_EQ(config.hidden_size, 64);
    EXPECT_EQ(config.n_vocab, 160);
    EXPECT_EQ(config.max_context, 2048);
    EXPECT_FALSE(config.tied_head);
    ASSERT_EQ(config.layers.size(), 4U);
    const LayerOptions& layer = config.layers[3];
    EXPECT_EQ(layer.n_heads, 4);
    EXPECT_EQ(layer.n_kv_heads, 2);
    EXPECT_EQ(layer.head_dim, 16);  // 64 / 4
    EXPECT_EQ(layer.ffn_size, 96);
    EXPECT_EQ(layer.score_scale, 0.25);  // 16^-0.5
    ASSERT_EQ(config.ropes.size(), 1U);
    EXPECT_EQ(config.ropes[0].rotary_dim, 16);
    EXPECT_EQ(config.ropes[0].theta, 10000.0);
  }
}

TEST(ArchCommon, HeadDimNeedNotBeHiddenByHeads) {
  auto md = hf_config(kClass);
  md.set("head_dim", int64_t{32});
  EXPECT_EQ(read_common_config(md).layers[0].head_dim, 32);
  auto gguf = gguf_config("llama");
  gguf.set("llama.attention.key_length", uint64_t{32});
  EXPECT_EQ(read_common_config(gguf).layers[0].head_dim, 32);
}

TEST(ArchCommon, WithoutKvHeadsEveryHeadHasItsOwn) {
  auto md = hf_config(kClass);
  md.set("num_key_value_heads", std::monostate{});
  EXPECT_EQ(read_common_config(md).layers[0].n_kv_heads, 4);
}

TEST(ArchCommon, VocabularySizeFollowsFromTheTokens) {
  auto md = gguf_config("llama");
  md.set("llama.vocab_size", std::monostate{});
  expect_error([&] { read_common_config(md); }, ErrorCode::kCorruptFile,
               {"model.gguf", "llama.vocab_size"});
  md.set("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "c"});
  EXPECT_EQ(read_common_config(md).n_vocab, 3);
}

// transformers 5 moved rope_theta and rope_scaling into rope_parameters.
TEST(ArchCommon, RopeOfBothSpellings) {
  auto old_keys = hf_config(kClass);
  old_keys.set("rope_theta", 500000.0);
  old_keys.set("rope_scaling.type", std::string("linear"));
  old_keys.set("rope_scaling.factor", 4.0);
  auto new_keys = hf_config(kClass);
  new_keys.set("rope_parameters.rope_theta", 500000.0);
  new_keys.set("rope_parameters.rope_type", std::string("linear"));
  new_keys.set("rope_parameters.factor", 4.0);
  for (const auto& md : {old_keys, new_keys}) {
    const RopeOptions rope = read_common_config(md).ropes[0];
    EXPECT_EQ(rope.theta, 500000.0);
    EXPECT_EQ(rope.scaling, RopeScaling::kLinear);
    EXPECT_EQ(rope.factor, 4.0);
  }
}

TEST(ArchCommon, RefusesWhatIsNotThereYetByName) {
  auto md = hf_config(kClass);
  md.set("rope_scaling.rope_type", std::string("longrope"));
  expect_error([&] { read_common_config(md); }, ErrorCode::kUnsupported,
               {"model/config.json", "'longrope'"});
  auto relu2 = hf_config(kClass);
  relu2.set("hidden_act", std::string("relu2"));
  expect_error([&] { read_common_config(relu2); }, ErrorCode::kUnsupported, {"'relu2'"});
}

TEST(ArchCommon, Activations) {
  const auto md = hf_config(kClass);
  using kernels::Activation;
  EXPECT_EQ(parse_activation(md, "silu"), Activation::kSilu);
  EXPECT_EQ(parse_activation(md, "gelu"), Activation::kGeluErf);
  EXPECT_EQ(parse_activation(md, "gelu_pytorch_tanh"), Activation::kGeluTanh);
  EXPECT_EQ(parse_activation(md, "relu"), Activation::kRelu);
}

}  // namespace
}  // namespace fathom::model
