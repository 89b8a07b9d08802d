// Configs of adapters: what peft's patterns mean, and what is refused by name. Expected values were
// worked out by hand from peft's get_pattern_key and check_target_module_exists.
#include "weights/adapter_config.h"

#include <gtest/gtest.h>

#include <string>

#include "support/error_check.h"
#include "support/temp_folder.h"

namespace fathom::weights {
namespace {

AdapterConfig read(const std::string& keys) {
  const test::TempFolder folder;
  const std::string text = "{\"peft_type\": \"LORA\"" + (keys.empty() ? "" : ", " + keys) + "}";
  const std::string path = folder.write("adapter_config.json", std::string_view(text));
  return read_adapter_config(path);
}

void expect_refused(const std::string& keys, std::initializer_list<std::string_view> parts,
                    ErrorCode code = ErrorCode::kUnsupported) {
  test::expect_error([&] { read(keys); }, code, parts);
}

constexpr const char* kQ0 = "model.layers.0.self_attn.q_proj";
constexpr const char* kQ10 = "model.layers.10.self_attn.q_proj";
constexpr const char* kDown1 = "model.layers.1.mlp.down_proj";

TEST(AdapterConfigTest, DefaultsAreThoseOfPeft) {
  const AdapterConfig config = read("");
  EXPECT_EQ(config.rank_of(kQ0), 8);
  EXPECT_DOUBLE_EQ(config.scale_of(kQ0), 1.0);
  EXPECT_FALSE(config.is_target(kQ0));
}

TEST(AdapterConfigTest, ScalesAreAlphaByRankOrItsRoot) {
  EXPECT_DOUBLE_EQ(read(R"("r": 4, "lora_alpha": 6)").scale_of(kQ0), 1.5);
  EXPECT_DOUBLE_EQ(read(R"("r": 4, "lora_alpha": 2.5)").scale_of(kQ0), 0.625);
  EXPECT_DOUBLE_EQ(read(R"("r": 4, "lora_alpha": 6, "use_rslora": true)").scale_of(kQ0), 3.0);
}

TEST(AdapterConfigTest, PatternsMatchTheEndBehindADot) {
  const AdapterConfig config = read(
      R"("r": 2, "lora_alpha": 2, "rank_pattern": {"q_proj": 4, "layers.1.mlp.down_proj": 6},
         "alpha_pattern": {"proj": 50, ".*down_proj": 12})");
  EXPECT_EQ(config.rank_of(kQ0), 4);
  EXPECT_EQ(config.rank_of("q_proj"), 4);
  EXPECT_EQ(config.rank_of("model.layers.0.self_attn.xq_proj"), 2);
  EXPECT_EQ(config.rank_of("model.layers.0.self_attn.q_proj.x"), 2);
  EXPECT_EQ(config.rank_of(kDown1), 6);
  EXPECT_EQ(config.rank_of("model.layers.11.mlp.down_proj"), 2);
  EXPECT_DOUBLE_EQ(config.scale_of(kQ0), 0.5);  // "proj" is no whole part of the name
  EXPECT_DOUBLE_EQ(config.scale_of(kDown1), 2.0);
}

TEST(AdapterConfigTest, TheFirstPatternInTheFileCounts) {
  EXPECT_EQ(read(R"("rank_pattern": {"q_proj": 3, "self_attn.q_proj": 5})").rank_of(kQ0), 3);
  EXPECT_EQ(read(R"("rank_pattern": {"self_attn.q_proj": 5, "q_proj": 3})").rank_of(kQ0), 5);
  EXPECT_EQ(read(R"("rank_pattern": {"^model.*q_proj": 7, "q_proj": 3})").rank_of(kQ0), 7);
  EXPECT_EQ(read(R"("rank_pattern": {"layers\\.(1|10)\\..*": 7})").rank_of(kQ10), 7);
  EXPECT_EQ(read(R"("rank_pattern": {"layers\\.(1|10)\\..*": 7})").rank_of(kQ0), 8);
}

TEST(AdapterConfigTest, TargetsAreEndsOfNamesOrOnePattern) {
  const AdapterConfig list = read(R"("target_modules": ["q_proj", "mlp.down_proj"])");
  EXPECT_TRUE(list.is_target(kQ0));
  EXPECT_TRUE(list.is_target(kDown1));
  EXPECT_TRUE(list.is_target("q_proj"));
  EXPECT_FALSE(list.is_target("model.layers.0.self_attn.kq_proj"));
  EXPECT_FALSE(list.is_target("model.layers.0.x.down_proj"));
  const AdapterConfig pattern = read(R"("target_modules": ".*\\.(q|k)_proj")");
  EXPECT_TRUE(pattern.is_target(kQ0));
  EXPECT_FALSE(pattern.is_target("q_proj"));  // the pattern is the whole name
  EXPECT_FALSE(pattern.is_target(kDown1));
  EXPECT_TRUE(read(R"("target_modules": "all-linear")").is_target(kDown1));
  const AdapterConfig excluding =
      read(R"("target_modules": ["q_proj"], "exclude_modules": ["layers.0.self_attn.q_proj"])");
  EXPECT_FALSE(excluding.is_target(kQ0));
  EXPECT_TRUE(excluding.is_target(kQ10));
}

TEST(AdapterConfigTest, LayersAreTheFirstNumberBehindTwoParts) {
  const AdapterConfig one = read(R"("target_modules": ["q_proj", "w"], "layers_to_transform": 10)");
  EXPECT_TRUE(one.is_target(kQ10));
  EXPECT_FALSE(one.is_target(kQ0));
  EXPECT_FALSE(one.is_target("layers.10.q_proj"));  // peft asks for something before "layers"
  EXPECT_TRUE(one.is_target("model.layers.10.experts.3.w"));
  EXPECT_FALSE(one.is_target("model.layers.3.experts.10.w"));
  const AdapterConfig many =
      read(R"("target_modules": ["q_proj"], "layers_to_transform": [0, 3], "layers_pattern": "h")");
  EXPECT_TRUE(many.is_target("transformer.h.0.q_proj"));
  EXPECT_TRUE(many.is_target("h.3.q_proj"));
  EXPECT_FALSE(many.is_target("transformer.h.1.q_proj"));
  EXPECT_FALSE(many.is_target(kQ0));
}

TEST(AdapterConfigTest, OtherKindsAreRefusedByName) {
  expect_refused(R"("use_dora": true)", {"use_dora", "true"});
  expect_refused(R"("bias": "all")", {"bias", "\"all\"", "none"});
  expect_refused(R"("lora_bias": true)", {"lora_bias"});
  expect_refused(R"("modules_to_save": ["lm_head"])", {"modules_to_save", "lm_head"});
  expect_refused(R"("trainable_token_indices": [1, 2])", {"trainable_token_indices"});
  expect_refused(R"("layer_replication": [[0, 2], [1, 3]])", {"layer_replication"});
  expect_refused(R"("use_bdlora": {"nblocks": 2})", {"use_bdlora", "an object"});
  expect_refused(R"("init_lora_weights": "pissa_niter_4")", {"init_lora_weights", "pissa_niter_4"});
  expect_refused(R"("rank_pattern": {"a{1,9}": 2})", {"rank_pattern", "a{1,9}"});
  expect_refused(R"("target_modules": "(?P<x>q).*")", {"target_modules", "(?P<x>q)"});
  const test::TempFolder folder;
  const std::string path =
      folder.write("adapter_config.json", std::string_view(R"({"peft_type": "IA3"})"));
  test::expect_error([&] { read_adapter_config(path); }, ErrorCode::kUnsupported,
                     {path, "peft_type", "\"IA3\"", "LORA"});
}

TEST(AdapterConfigTest, WhatIsUnusedIsNoKindOfItsOwn) {
  const AdapterConfig config = read(
      R"("use_dora": false, "bias": "none", "modules_to_save": null, "layer_replication": [],
         "use_bdlora": null, "init_lora_weights": true, "loftq_config": {},
         "rank_pattern": null, "target_modules": ["q_proj"], "layers_to_transform": null)");
  EXPECT_TRUE(config.is_target(kQ0));
  EXPECT_NO_THROW(read(R"("init_lora_weights": "gaussian")"));
}

TEST(AdapterConfigTest, ImpossibleNumbersAreNamed) {
  expect_refused(R"("r": 0)", {"r: found 0", "65536"}, ErrorCode::kCorruptFile);
  expect_refused(R"("r": -3)", {"r: found -3"}, ErrorCode::kCorruptFile);
  expect_refused(R"("r": "8")", {"r"}, ErrorCode::kCorruptFile);
  expect_refused(R"("rank_pattern": {"q": 1.5})", {"rank_pattern: found 1.5"},
                 ErrorCode::kCorruptFile);
  expect_refused(R"("rank_pattern": {"q": "x"})", {"JSON"}, ErrorCode::kCorruptFile);
  expect_refused(R"("lora_alpha": NaN)", {"lora_alpha"}, ErrorCode::kCorruptFile);
}

}  // namespace
}  // namespace fathom::weights
