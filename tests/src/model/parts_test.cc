// The shape of every part that a config asks for, and the common names.
#include "model/parts.h"

#include <gtest/gtest.h>

#include <set>

#include "src/model/made_file.h"

namespace fathom::model {
namespace {

using test::small_config;

// "2x[8, 4]+bias", or "-" where the part is not asked for.
std::string describe(const PartWant& want) {
  if (!want.needed) {
    return "-";
  }
  const std::string count = want.count > 0 ? std::to_string(want.count) + "x" : "";
  return count + "[" + std::to_string(want.n_rows) + ", " + std::to_string(want.n_cols) + "]" +
         (want.bias ? "+bias" : "");
}

std::string of_layer(Part part, const ModelConfig& config) {
  return describe(want_of_layer(part, config, config.layers.front()));
}

std::string of_model(Part part, const ModelConfig& config) {
  return describe(want_of_model(part, config));
}

TEST(Parts, ADenseLayer) {
  const ModelConfig config = small_config();
  EXPECT_EQ(of_model(Part::kEmbedding, config), "[10, 8]");
  EXPECT_EQ(of_model(Part::kHead, config), "[10, 8]");
  EXPECT_EQ(of_model(Part::kLastNorm, config), "[1, 8]");
  EXPECT_EQ(of_layer(Part::kAttnNorm, config), "[1, 8]");
  EXPECT_EQ(of_layer(Part::kFfnNorm, config), "[1, 8]");
  EXPECT_EQ(of_layer(Part::kQ, config), "[8, 8]");
  EXPECT_EQ(of_layer(Part::kK, config), "[4, 8]");
  EXPECT_EQ(of_layer(Part::kV, config), "[4, 8]");
  EXPECT_EQ(of_layer(Part::kOutput, config), "[8, 8]");
  EXPECT_EQ(of_layer(Part::kGate, config), "[6, 8]");
  EXPECT_EQ(of_layer(Part::kUp, config), "[6, 8]");
  EXPECT_EQ(of_layer(Part::kDown, config), "[8, 6]");
  for (const Part part : {Part::kEmbedNorm, Part::kPositions, Part::kProjectIn, Part::kProjectOut,
                          Part::kRopeDivisors, Part::kRopeLong, Part::kRopeShort}) {
    EXPECT_EQ(of_model(part, config), "-") << static_cast<int>(part);
  }
  for (const Part part :
       {Part::kAttnPostNorm, Part::kFfnPostNorm, Part::kQNorm, Part::kKNorm, Part::kSinks,
        Part::kQA, Part::kQB, Part::kKvA, Part::kKB, Part::kVB, Part::kRouter, Part::kCorrection,
        Part::kExpertGate, Part::kExpertDown, Part::kSharedUp, Part::kSharedRouter}) {
    EXPECT_EQ(of_layer(part, config), "-") << static_cast<int>(part);
  }
}

TEST(Parts, BiasesAndAnUngatedFeedForward) {
  ModelConfig config = small_config();
  config.head_bias = true;
  config.norm_bias = true;
  LayerOptions& layer = config.layers.front();
  layer.qkv_bias = true;
  layer.ffn_bias = true;
  layer.gated = false;
  EXPECT_EQ(of_model(Part::kHead, config), "[10, 8]+bias");
  EXPECT_EQ(of_layer(Part::kAttnNorm, config), "[1, 8]+bias");
  EXPECT_EQ(of_layer(Part::kK, config), "[4, 8]+bias");
  EXPECT_EQ(of_layer(Part::kOutput, config), "[8, 8]");
  EXPECT_EQ(of_layer(Part::kGate, config), "-");
  EXPECT_EQ(of_layer(Part::kUp, config), "[6, 8]+bias");
  EXPECT_EQ(of_layer(Part::kDown, config), "[8, 6]+bias");
  layer.output_bias = true;
  EXPECT_EQ(of_layer(Part::kOutput, config), "[8, 8]+bias");
}

TEST(Parts, NormsOfEveryPlacement) {
  struct Case {
    NormPlacement placement;
    const char* before;
    const char* behind;
  };

  for (const Case& one :
       {Case{NormPlacement::kPre, "[1, 8]", "-"}, Case{NormPlacement::kPost, "-", "[1, 8]"},
        Case{NormPlacement::kSandwich, "[1, 8]", "[1, 8]"},
        Case{NormPlacement::kAfterSum, "-", "[1, 8]"}}) {
    ModelConfig config = small_config();
    config.layers.front().norm_placement = one.placement;
    EXPECT_EQ(of_layer(Part::kAttnNorm, config), one.before);
    EXPECT_EQ(of_layer(Part::kFfnNorm, config), one.before);
    EXPECT_EQ(of_layer(Part::kAttnPostNorm, config), one.behind);
    EXPECT_EQ(of_layer(Part::kFfnPostNorm, config), one.behind);
  }
  ModelConfig config = small_config();
  config.layers.front().own_ffn_norm = false;
  EXPECT_EQ(of_layer(Part::kFfnNorm, config), "-");
  EXPECT_EQ(of_layer(Part::kAttnNorm, config), "[1, 8]");
  config.norm_weight = false;
  config.last_norm = false;
  EXPECT_EQ(of_layer(Part::kAttnNorm, config), "-");
  EXPECT_EQ(of_model(Part::kLastNorm, config), "-");
}

TEST(Parts, QkNormsOfEveryKind) {
  ModelConfig config = small_config();
  LayerOptions& layer = config.layers.front();
  layer.qk_norm = QkNorm::kHead;
  EXPECT_EQ(of_layer(Part::kQNorm, config), "[1, 4]");
  EXPECT_EQ(of_layer(Part::kKNorm, config), "[1, 4]");
  layer.qk_norm = QkNorm::kEachHead;
  EXPECT_EQ(of_layer(Part::kQNorm, config), "[2, 4]");
  EXPECT_EQ(of_layer(Part::kKNorm, config), "[1, 4]");
  layer.qk_norm = QkNorm::kWide;
  layer.qk_norm_bias = true;
  EXPECT_EQ(of_layer(Part::kQNorm, config), "[1, 8]+bias");
  EXPECT_EQ(of_layer(Part::kKNorm, config), "[1, 4]+bias");
}

TEST(Parts, OutsideTheLayers) {
  ModelConfig config = small_config();
  config.embed_size = 5;
  config.embed_norm = true;
  config.n_positions = 32;
  config.position_offset = 2;
  config.tied_head = true;
  config.ropes.front().file_divisors = true;
  config.layers.front().sinks = true;
  EXPECT_EQ(of_model(Part::kEmbedding, config), "[10, 5]");
  EXPECT_EQ(of_model(Part::kProjectIn, config), "[8, 5]");
  EXPECT_EQ(of_model(Part::kProjectOut, config), "[5, 8]");
  EXPECT_EQ(of_model(Part::kEmbedNorm, config), "[1, 8]");
  EXPECT_EQ(of_model(Part::kPositions, config), "[34, 8]");
  EXPECT_EQ(of_model(Part::kHead, config), "-");
  EXPECT_EQ(of_model(Part::kRopeDivisors, config), "[1, 2]");
  EXPECT_EQ(of_model(Part::kRopeLong, config), "-");
  EXPECT_EQ(of_layer(Part::kSinks, config), "[1, 2]");
  config.ropes.front().file_long_factors = true;
  EXPECT_EQ(of_model(Part::kRopeLong, config), "[1, 2]");
  EXPECT_EQ(of_model(Part::kRopeShort, config), "[1, 2]");
  config.ropes.clear();  // learned positions
  EXPECT_EQ(of_model(Part::kRopeDivisors, config), "-");
}

TEST(Parts, LatentAttention) {
  ModelConfig config = small_config();
  LayerOptions& layer = config.layers.front();
  layer.latent =
      LatentOptions{.q_rank = 0, .kv_rank = 5, .nope_dim = 3, .rope_dim = 2, .value_dim = 7};
  EXPECT_EQ(of_layer(Part::kQ, config), "[10, 8]");  // 2 heads of 3 + 2
  EXPECT_EQ(of_layer(Part::kQA, config), "-");
  EXPECT_EQ(of_layer(Part::kQB, config), "-");
  layer.latent->q_rank = 6;
  EXPECT_EQ(of_layer(Part::kQ, config), "-");
  EXPECT_EQ(of_layer(Part::kQA, config), "[6, 8]");
  EXPECT_EQ(of_layer(Part::kQANorm, config), "[1, 6]");
  EXPECT_EQ(of_layer(Part::kQB, config), "[10, 6]");
  EXPECT_EQ(of_layer(Part::kKvA, config), "[7, 8]");
  EXPECT_EQ(of_layer(Part::kKvANorm, config), "[1, 5]");
  EXPECT_EQ(of_layer(Part::kKB, config), "2x[5, 3]");
  EXPECT_EQ(of_layer(Part::kVB, config), "2x[7, 5]");
  EXPECT_EQ(of_layer(Part::kOutput, config), "[8, 14]");
  EXPECT_EQ(of_layer(Part::kK, config), "-");
  layer.qkv_bias = true;
  EXPECT_EQ(of_layer(Part::kKvA, config), "[7, 8]+bias");
  EXPECT_EQ(of_layer(Part::kQB, config), "[10, 6]");
}

TEST(Parts, Experts) {
  ModelConfig config = small_config();
  ExpertOptions experts;
  experts.n_experts = 4;
  experts.ffn_size = 3;
  config.layers.front().experts = experts;
  EXPECT_EQ(of_layer(Part::kGate, config), "-");
  EXPECT_EQ(of_layer(Part::kDown, config), "-");
  EXPECT_EQ(of_layer(Part::kRouter, config), "[4, 8]");
  EXPECT_EQ(of_layer(Part::kCorrection, config), "-");
  EXPECT_EQ(of_layer(Part::kExpertGate, config), "4x[3, 8]");
  EXPECT_EQ(of_layer(Part::kExpertUp, config), "4x[3, 8]");
  EXPECT_EQ(of_layer(Part::kExpertDown, config), "4x[8, 3]");
  EXPECT_EQ(of_layer(Part::kSharedGate, config), "-");
  ExpertOptions& full = *config.layers.front().experts;
  full.bias = true;
  full.router_bias = true;
  full.correction_bias = true;
  full.shared_ffn_size = 9;
  full.shared_gate = true;
  EXPECT_EQ(of_layer(Part::kRouter, config), "[4, 8]+bias");
  EXPECT_EQ(of_layer(Part::kCorrection, config), "[1, 4]");
  EXPECT_EQ(of_layer(Part::kExpertDown, config), "4x[8, 3]+bias");
  EXPECT_EQ(of_layer(Part::kSharedGate, config), "[9, 8]");
  EXPECT_EQ(of_layer(Part::kSharedDown, config), "[8, 9]");
  EXPECT_EQ(of_layer(Part::kSharedRouter, config), "[1, 8]");
}

// Every part once, and per layer exactly where the name says so.
TEST(Parts, CommonNamesCoverThem) {
  std::set<Part> seen;
  for (const TensorRule& rule : common_rules()) {
    EXPECT_TRUE(seen.insert(rule.part).second);
    for (const FilePlace& place : {rule.gguf, rule.hf}) {
      if (!place.name.empty()) {
        EXPECT_EQ(place.name.find("{i}") != std::string_view::npos, is_per_layer(rule.part))
            << place.name;
      }
    }
  }
  EXPECT_EQ(seen.size(), static_cast<size_t>(kNumParts - 2));  // OPT alone projects its embedding
  EXPECT_FALSE(seen.contains(Part::kProjectIn));
  EXPECT_FALSE(seen.contains(Part::kProjectOut));
}

}  // namespace
}  // namespace fathom::model
