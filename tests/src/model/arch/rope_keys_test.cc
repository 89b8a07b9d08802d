// Rotations under the keys of GGUF and of both layouts of config.json: rope_theta beside
// rope_scaling, and rope_parameters since transformers 5.
#include "model/arch/rope_keys.h"

#include <gtest/gtest.h>

#include "src/model/arch/configs.h"
#include "support/error_check.h"

namespace fathom::model {
namespace {

using test::expect_error;
using test::gguf_config;
using test::hf_config;
using test::MadeFile;

using Numbers = std::vector<std::pair<const char*, double>>;

constexpr char kClass[] = "LlamaForCausalLM";

RopeOptions rope_of(const MadeFile& file) {
  return read_rope(ConfigReader(file.file()), 16, "rope_parameters.");
}

// The same dictionary in both layouts.
std::vector<MadeFile> both(const std::string& kind, const Numbers& numbers) {
  std::vector<MadeFile> files;
  for (const char* prefix : {"rope_scaling.", "rope_parameters."}) {
    MadeFile file = hf_config(kClass);
    const bool is_old = std::string(prefix) == "rope_scaling.";
    file.set(is_old ? "rope_theta" : "rope_parameters.rope_theta", 500000.0);
    file.set("max_position_embeddings", int64_t{256});
    file.set(std::string(prefix) + (is_old ? "type" : "rope_type"), kind);
    for (const auto& [name, value] : numbers) {
      file.set(std::string(prefix) + name, value);
    }
    files.push_back(std::move(file));
  }
  return files;
}

TEST(RopeKeys, LinearAndDynamic) {
  for (const MadeFile& file : both("linear", {{"factor", 4.0}})) {
    const RopeOptions rope = rope_of(file);
    EXPECT_EQ(rope.theta, 500000.0);
    EXPECT_EQ(rope.scaling, RopeScaling::kLinear);
    EXPECT_EQ(rope.factor, 4.0);
    EXPECT_EQ(rope.rotary_dim, 16);
  }
  for (const MadeFile& file : both("dynamic", {{"factor", 3.0}})) {
    const RopeOptions rope = rope_of(file);
    EXPECT_EQ(rope.scaling, RopeScaling::kDynamic);
    EXPECT_EQ(rope.factor, 3.0);
    EXPECT_EQ(rope.original_context, 256.0);
    EXPECT_EQ(test::read_common(file).max_context, 768);  // the length after scaling
  }
}

TEST(RopeKeys, Llama3) {
  const Numbers numbers = {{"factor", 8.0},
                           {"low_freq_factor", 1.5},
                           {"high_freq_factor", 3.5},
                           {"original_max_position_embeddings", 64.0}};
  for (const MadeFile& file : both("llama3", numbers)) {
    const RopeOptions rope = rope_of(file);
    EXPECT_EQ(rope.scaling, RopeScaling::kLlama3);
    EXPECT_EQ(rope.low_freq_factor, 1.5);
    EXPECT_EQ(rope.high_freq_factor, 3.5);
    EXPECT_EQ(rope.original_context, 64.0);
  }
  for (const MadeFile& file : both("llama3", {{"factor", 8.0}})) {
    expect_error([&] { rope_of(file); }, ErrorCode::kCorruptFile, {"low_freq_factor"});
  }
}

// Figures of modeling_rope_utils: 0.1 ln 4 + 1, and the quotient of the two mscales.
TEST(RopeKeys, Yarn) {
  Numbers numbers = {{"factor", 4.0}, {"original_max_position_embeddings", 64.0}};
  for (const MadeFile& file : both("yarn", numbers)) {
    const RopeOptions rope = rope_of(file);
    EXPECT_EQ(rope.scaling, RopeScaling::kYarn);
    EXPECT_EQ(rope.beta_fast, 32.0);
    EXPECT_EQ(rope.beta_slow, 1.0);
    EXPECT_TRUE(rope.truncate);
    EXPECT_NEAR(rope.magnitude, 1.13862944, 1e-8);
  }
  numbers.insert(numbers.end(), {{"mscale", 0.9}, {"mscale_all_dim", 0.6}, {"beta_fast", 6.0}});
  for (const MadeFile& file : both("yarn", numbers)) {
    EXPECT_NEAR(rope_of(file).magnitude, 1.12476649 / 1.08317766, 1e-7);
    EXPECT_EQ(rope_of(file).beta_fast, 6.0);
  }
  numbers.emplace_back("attention_factor", 1.4);
  for (MadeFile& file : both("yarn", numbers)) {
    file.set("rope_scaling.truncate", false).set("rope_parameters.truncate", false);
    EXPECT_EQ(rope_of(file).magnitude, 1.4);
    EXPECT_FALSE(rope_of(file).truncate);
  }
}

// sqrt(1 + ln 4 / ln 64), by the factor or by the lengths.
TEST(RopeKeys, Longrope) {
  for (const Numbers& numbers :
       {Numbers{{"factor", 4.0}, {"original_max_position_embeddings", 64.0}},
        Numbers{{"original_max_position_embeddings", 64.0}}}) {
    for (MadeFile& file : both("longrope", numbers)) {
      for (const char* prefix : {"rope_scaling.", "rope_parameters."}) {
        file.set(std::string(prefix) + "short_factor", std::vector<double>{1.0, 1.5});
        file.set(std::string(prefix) + "long_factor", std::vector<int64_t>{2, 3});
      }
      const RopeOptions rope = rope_of(file);
      EXPECT_EQ(rope.scaling, RopeScaling::kLongRope);
      EXPECT_EQ(rope.short_factors, (std::vector<double>{1.0, 1.5}));
      EXPECT_EQ(rope.long_factors, (std::vector<double>{2.0, 3.0}));
      EXPECT_NEAR(rope.magnitude, 1.15470054, 1e-8);
      EXPECT_EQ(rope.original_context, 64.0);
    }
  }
}

TEST(RopeKeys, OlderNamesOfLongrope) {
  for (const char* kind : {"su", "yarn"}) {
    for (MadeFile& file : both(kind, {{"original_max_position_embeddings", 64.0}})) {
      for (const char* prefix : {"rope_scaling.", "rope_parameters."}) {
        file.set(std::string(prefix) + "long_factor", std::vector<double>{2.0});
      }
      EXPECT_EQ(rope_of(file).scaling, RopeScaling::kLongRope) << kind;
    }
  }
}

// The original length may lie outside of the dictionary.
TEST(RopeKeys, OriginalContextOfTheModel) {
  for (MadeFile& file : both("yarn", {{"factor", 4.0}})) {
    EXPECT_EQ(rope_of(file).original_context, 256.0);
    file.set("original_max_position_embeddings", int64_t{32});
    EXPECT_EQ(rope_of(file).original_context, 32.0);
  }
}

TEST(RopeKeys, PartsOfAHead) {
  MadeFile file = hf_config(kClass);
  file.set("partial_rotary_factor", 0.5);
  EXPECT_EQ(rope_of(file).rotary_dim, 8);
  MadeFile neox = hf_config(kClass);
  neox.set("rotary_pct", 0.25).set("rotary_emb_base", int64_t{3000});
  EXPECT_EQ(rope_of(neox).rotary_dim, 4);
  EXPECT_EQ(rope_of(neox).theta, 3000.0);
  for (const MadeFile& one : both("proportional", {{"partial_rotary_factor", 0.25}})) {
    if (has_rope_dictionary(ConfigReader(one.file()), "rope_parameters.")) {
      const RopeOptions rope = rope_of(one);
      EXPECT_EQ(rope.scaling, RopeScaling::kProportional);
      EXPECT_EQ(rope.rotary_dim, 16);  // the whole head, the rest with frequency 0
      EXPECT_EQ(rope.partial, 0.25);
      EXPECT_EQ(rope.factor, 1.0);
    }
  }
}

TEST(RopeKeys, OtherScalingsAreRefusedByName) {
  for (const MadeFile& file : both("spiral", {})) {
    expect_error([&] { rope_of(file); }, ErrorCode::kUnsupported,
                 {"model/config.json", "'spiral'"});
  }
  for (const MadeFile& file : both("linear", {})) {
    expect_error([&] { rope_of(file); }, ErrorCode::kCorruptFile, {"factor"});
  }
}

TEST(RopeKeys, Gguf) {
  MadeFile file = gguf_config("llama");
  file.set("llama.rope.freq_base", 5000.0).set("llama.rope.dimension_count", uint64_t{8});
  EXPECT_EQ(rope_of(file).theta, 5000.0);
  EXPECT_EQ(rope_of(file).rotary_dim, 8);
  EXPECT_EQ(rope_of(file).scaling, RopeScaling::kNone);
  file.set("llama.rope.scaling.type", std::string("linear"));
  file.set("llama.rope.scaling.factor", 4.0);
  EXPECT_EQ(rope_of(file).scaling, RopeScaling::kLinear);
  EXPECT_EQ(rope_of(file).factor, 4.0);
  file.set("llama.rope.scaling.type", std::string("yarn"));
  file.set("llama.rope.scaling.original_context_length", uint64_t{512});
  EXPECT_EQ(rope_of(file).scaling, RopeScaling::kYarn);
  EXPECT_EQ(rope_of(file).original_context, 512.0);
  EXPECT_NEAR(rope_of(file).magnitude, 1.13862944, 1e-8);
  file.set("llama.rope.scaling.yarn_attn_factor", 1.4);
  EXPECT_EQ(rope_of(file).magnitude, 1.4);
  file.set("llama.rope.scaling.attn_factor", 2.0);
  EXPECT_EQ(rope_of(file).magnitude, 2.8);
  file.set("llama.rope.scaling.type", std::string("spiral"));
  expect_error([&] { rope_of(file); }, ErrorCode::kUnsupported, {"model.gguf", "'spiral'"});
}

// The tensors tell longrope; its magnitude follows from the two lengths: sqrt(1 + ln 4 / ln 512).
TEST(RopeKeys, GgufsLongropeIsInTensors) {
  MadeFile file = gguf_config("llama");
  file.set("llama.rope.scaling.original_context_length", uint64_t{512});
  file.add("rope_factors_long.weight", {8});
  const RopeOptions rope = rope_of(file);
  EXPECT_EQ(rope.scaling, RopeScaling::kLongRope);
  EXPECT_TRUE(rope.file_long_factors);
  EXPECT_NEAR(rope.magnitude, 1.10554160, 1e-8);
  file.set("llama.rope.scaling.attn_factor", 1.25);
  EXPECT_EQ(rope_of(file).magnitude, 1.25);
}

TEST(RopeKeys, YarnMscale) {
  EXPECT_EQ(yarn_mscale(1.0, 0.7), 1.0);
  EXPECT_NEAR(yarn_mscale(40.0, 1.0), 1.36888795, 1e-8);
  EXPECT_NEAR(yarn_mscale(40.0, 0.707), 1.26080378, 1e-8);
}

TEST(RopeKeys, AFactorWithoutAKindIsRefused) {
  MadeFile file = hf_config(kClass);
  file.set("rope_scaling.factor", 8.0);
  expect_error([&] { rope_of(file); }, ErrorCode::kCorruptFile, {"rope_scaling", "rope_type"});
}

// C47 (b): cos and sin of YaRN carry 0.1 ln(factor) + 1 where the file gives no factor of its own.
TEST(RopeKeys, TheMagnitudeOfYarnFollowsFromItsFactor) {
  const std::pair<double, double> cases[] = {
      {4, 1.138629}, {8, 1.207944}, {40, 1.368888}, {64, 1.415888}};
  for (const auto& [factor, magnitude] : cases) {
    const Numbers numbers = {{"factor", factor}, {"original_max_position_embeddings", 64}};
    for (const MadeFile& file : both("yarn", numbers)) {
      EXPECT_NEAR(rope_of(file).magnitude, magnitude, 1e-6) << factor;
    }
  }
}

}  // namespace
}  // namespace fathom::model
