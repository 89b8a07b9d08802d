// What all decoders share: sizes and their defaults under the keys of both formats, one name for
// another, refusals.
#include "model/arch/config_reader.h"

#include <gtest/gtest.h>

#include <cmath>

#include "src/model/arch/configs.h"
#include "support/error_check.h"
#include "weights/json.h"

namespace fathom::model {
namespace {

using test::expect_error;
using test::gguf_config;
using test::hf_config;
using test::MadeFile;
using test::read_common;

constexpr char kClass[] = "LlamaForCausalLM";

TEST(ConfigReader, BothFormatsGiveTheSameSizes) {
  for (const auto& file : {hf_config(kClass), gguf_config("llama")}) {
    const ModelConfig config = read_common(file);
    EXPECT_EQ(config.n_layers, 4);
    EXPECT_EQ(config.hidden_size, 64);
    EXPECT_EQ(config.n_vocab, 160);
    EXPECT_EQ(config.max_context, 2048);
    EXPECT_EQ(config.norm_eps, 1e-5);
    EXPECT_FALSE(config.tied_head);
    ASSERT_EQ(config.layers.size(), 4U);
    const LayerOptions& layer = config.layers[3];
    EXPECT_EQ(layer.n_heads, 4);
    EXPECT_EQ(layer.n_kv_heads, 2);
    EXPECT_EQ(layer.head_dim, 16);  // 64 / 4
    EXPECT_EQ(layer.ffn_size, 96);
    EXPECT_EQ(layer.score_scale, 0.25);  // 16^-0.5
    EXPECT_EQ(layer.hidden.activation, kernels::Activation::kSilu);
    ASSERT_EQ(config.ropes.size(), 1U);
    EXPECT_EQ(config.ropes[0].rotary_dim, 16);
    EXPECT_EQ(config.ropes[0].theta, 10000.0);
  }
}

MadeFile with_json(std::string_view text) {
  MadeFile file = hf_config(kClass);
  weights::flatten_json(text, "model/config.json", "", file.file().metadata);
  return file;
}

// What is no number is an error of its key, not a missing key.
TEST(ConfigReader, ObjectsAndListsAreRefused) {
  for (const char* key :
       {"max_position_embeddings", "head_dim", "rms_norm_eps", "hidden_act", "tie_word_embeddings",
        "layer_types", "rope_theta", "rope_scaling", "rope_parameters", "partial_rotary_factor"}) {
    for (const char* value : {"{}", R"([{"a": 1}])", R"([1, "x"])", "[1]", "[[]]"}) {
      const std::string name = key;
      const bool is_object = std::string_view(value) == "{}";
      if (is_object && name.starts_with("rope_") && name != "rope_theta") {
        continue;  // an empty dictionary says nothing
      }
      SCOPED_TRACE(name + value);
      const MadeFile file = with_json("{\"" + name + "\": " + value + "}");
      expect_error([&] { read_common(file); }, ErrorCode::kCorruptFile,
                   {"model/config.json: key '", name, "': found a", ", expected a"});
    }
  }
  for (const char* text :
       {R"({"rope_scaling": 7})", R"({"rope_scaling": "yarn"})", R"({"rope_parameters": true})"}) {
    expect_error([&] { read_common(with_json(text)); }, ErrorCode::kCorruptFile,
                 {"key 'rope_", "found a", "expected an object, with the key"});
  }
  EXPECT_EQ(read_common(with_json(R"({"rope_scaling": {}, "rope_theta": null})")).ropes[0].theta,
            10000.0);
}

TEST(ConfigReader, NumbersLieInTheirRange) {
  MadeFile file = hf_config(kClass);
  const ConfigReader reader(file.file());
  EXPECT_EQ(reader.factor({"scale"}, -5.0), -5.0) << "the default is the family's";
  EXPECT_EQ(reader.count({"n_more"}, 8, 3), 3);
  for (const double bad : {0.0, -1.0, 1e300, 1e-300, std::nan(""), HUGE_VAL}) {
    file.set("scale", bad);
    expect_error([&] { (void)reader.factor({"other|scale"}, 1.0); }, ErrorCode::kCorruptFile,
                 {"model/config.json: key 'scale' is ", ", expected 1e-06 to 1e+06"});
    if (bad != 0) {
      expect_error([&] { (void)reader.limit({"scale"}, 1.0); }, ErrorCode::kCorruptFile, {"scale"});
    }
  }
  file.set("scale", 0.0);
  EXPECT_EQ(reader.limit({"scale"}, 30.0), 0.0) << "0 is none";
  file.set("scale", 0.5);
  EXPECT_EQ(reader.factor({"scale"}, 1.0), 0.5);
  for (const int64_t bad : {int64_t{-1}, int64_t{9}, int64_t{1} << 40}) {
    file.set("n_more", bad);
    expect_error([&] { (void)reader.count({"n_more"}, 8, 3); }, ErrorCode::kCorruptFile,
                 {"key 'n_more' is ", ", expected 0 to 8"});
  }
  file.set("n_more", int64_t{0});
  EXPECT_EQ(reader.count({"n_more"}, 8, 3), 0);
}

TEST(ConfigReader, EveryLayerHasOneKnownType) {
  MadeFile file = hf_config(kClass);
  file.set("layer_types", std::vector<std::string>{"full_attention", "sliding_attention"});
  expect_error([&] { read_common(file); }, ErrorCode::kCorruptFile, {"layer_types", "2", "4"});
  file.set("layer_types", std::vector<std::string>(4, "spiral_attention"));
  expect_error([&] { read_common(file); }, ErrorCode::kUnsupported, {"spiral_attention"});
  file.set("layer_types", std::vector<std::string>(4, "full_attention"));
  EXPECT_EQ(read_common(file).n_layers, 4);
}

// GPT-2, GPT-Neo and MPT call the same sizes by other names.
TEST(ConfigReader, OtherFamiliesOtherNames) {
  struct Names {
    const char* layers;
    const char* hidden;
    const char* heads;
    const char* context;
    const char* ffn;
    const char* eps;
  };

  for (const Names& names :
       {Names{"n_layer", "n_embd", "n_head", "n_positions", "n_inner", "layer_norm_epsilon"},
        Names{"num_layers", "d_model", "num_heads", "max_seq_len", "ffn_dim", "norm_eps"},
        Names{"n_layers", "n_embed", "n_heads", "seq_length", "ffn_hidden_size",
              "layer_norm_eps"}}) {
    MadeFile file;
    file.set("architectures", std::vector<std::string>{"X"}).set("vocab_size", int64_t{10});
    file.set(names.layers, int64_t{3}).set(names.hidden, int64_t{48});
    file.set(names.heads, int64_t{6}).set(names.context, int64_t{77});
    file.set(names.ffn, int64_t{50}).set(names.eps, 0.25);
    const ModelConfig config = read_common(file);
    EXPECT_EQ(config.n_layers, 3);
    EXPECT_EQ(config.hidden_size, 48);
    EXPECT_EQ(config.layers[0].n_heads, 6);
    EXPECT_EQ(config.layers[0].n_kv_heads, 6);
    EXPECT_EQ(config.max_context, 77);
    EXPECT_EQ(config.layers[0].ffn_size, 50);
    EXPECT_EQ(config.norm_eps, 0.25);
  }
}

TEST(ConfigReader, DefaultsOfWhatIsMissing) {
  MadeFile file = hf_config(kClass);
  file.set("intermediate_size", std::monostate{});
  file.set("num_key_value_heads", std::monostate{});
  const ModelConfig config = read_common(file);
  EXPECT_EQ(config.layers[0].ffn_size, 4 * 64);
  EXPECT_EQ(config.layers[0].n_kv_heads, 4);
  EXPECT_EQ(config.max_context, 2048);
}

TEST(ConfigReader, HeadDimNeedNotBeHiddenByHeads) {
  MadeFile hf = hf_config(kClass);
  hf.set("head_dim", int64_t{32});
  EXPECT_EQ(read_common(hf).layers[0].head_dim, 32);
  MadeFile gguf = gguf_config("llama");
  gguf.set("llama.attention.key_length", uint64_t{32});
  EXPECT_EQ(read_common(gguf).layers[0].head_dim, 32);
}

// Some converters write 4 * hidden whatever the tensors have.
TEST(ConfigReader, GgufsFeedForwardIsWhatTheTensorHas) {
  MadeFile file = gguf_config("llama");
  file.add("blk.0.ffn_down.weight", {64, 80});
  EXPECT_EQ(read_common(file).layers[0].ffn_size, 80);
}

TEST(ConfigReader, GgufsVocabularyIsWhatTheEmbeddingHas) {
  MadeFile file = gguf_config("llama");
  file.set("llama.vocab_size", std::monostate{});
  EXPECT_EQ(read_common(file).n_vocab, 0);  // check() refuses it
  file.add("token_embd.weight", {3, 64});
  EXPECT_EQ(read_common(file).n_vocab, 3);
}

TEST(ConfigReader, FirstNameThatIsThereWins) {
  MadeFile file = hf_config(kClass);
  const ConfigReader reader(file.file());
  EXPECT_EQ(reader.integer({"a|b", "c"}, 9), 9);
  file.set("b", int64_t{2});
  EXPECT_EQ(reader.integer({"a|b", "c"}, 9), 2);
  file.set("a", int64_t{1});
  EXPECT_EQ(reader.integer({"a|b", "c"}, 9), 1);
  file.set("a", std::monostate{});  // null is absent
  EXPECT_EQ(reader.integer({"a|b", "c"}, 9), 2);
  file.set("c", int64_t{3});
  EXPECT_EQ(reader.integer({{}, "c"}, 9), 9) << "GGUF's name in config.json";
}

TEST(ConfigReader, GgufKeysHaveThePrefix) {
  MadeFile file = gguf_config("qwen2");
  const ConfigReader reader(file.file());
  file.set("window", int64_t{1}).set("qwen2.window", int64_t{2}).set("sliding", int64_t{3});
  EXPECT_EQ(reader.integer({"sliding", "window"}, 9), 2);
  EXPECT_EQ(reader.real({"sliding", "window"}, 9), 2.0);
  EXPECT_EQ(reader.integer({"sliding"}, 9), 9) << "config.json's name in GGUF";
}

TEST(ConfigReader, TypesAreChecked) {
  MadeFile file = hf_config(kClass);
  file.set("hidden_size", std::string("wide"));
  expect_error([&] { read_common(file); }, ErrorCode::kCorruptFile,
               {"model/config.json", "hidden_size"});
  file.set("hidden_size", 64.5);
  expect_error([&] { read_common(file); }, ErrorCode::kCorruptFile, {"hidden_size"});
  file.set("hidden_size", int64_t{64}).set("tie_word_embeddings", std::string("yes"));
  expect_error([&] { read_common(file); }, ErrorCode::kCorruptFile, {"tie_word_embeddings"});
}

// C27, C28: counts of a broken or hostile file are refused before anything is sized by them.
TEST(ConfigReader, AbsurdSizesAreRefusedByName) {
  struct Absurd {
    const char* hf;
    const char* gguf;
  };

  for (const Absurd& one :
       {Absurd{"num_hidden_layers", "llama.block_count"},
        Absurd{"hidden_size", "llama.embedding_length"}, Absurd{"vocab_size", "llama.vocab_size"},
        Absurd{"intermediate_size", "llama.feed_forward_length"},
        Absurd{"num_attention_heads", "llama.attention.head_count"},
        Absurd{"num_key_value_heads", "llama.attention.head_count_kv"},
        Absurd{"head_dim", "llama.attention.key_length"},
        Absurd{"max_position_embeddings", "llama.context_length"}}) {
    for (const int64_t value : {int64_t{0}, int64_t{-1}, int64_t{1} << 31, INT64_MAX, INT64_MIN}) {
      MadeFile hf = hf_config(kClass);
      hf.set(one.hf, value);
      const std::string found = "' is " + std::to_string(value) + ", expected 1 to ";
      expect_error([&] { read_common(hf); }, ErrorCode::kCorruptFile,
                   {"model/config.json: key '" + std::string(one.hf) + found});
      MadeFile gguf = gguf_config("llama");
      gguf.set(one.gguf, value);
      expect_error([&] { read_common(gguf); }, ErrorCode::kCorruptFile,
                   {"model.gguf: key '" + std::string(one.gguf) + found});
    }
  }
}

TEST(ConfigReader, MissingSizesAreNamedWithAllTheirNames) {
  MadeFile hf = hf_config(kClass);
  hf.set("num_hidden_layers", std::monostate{});
  expect_error([&] { read_common(hf); }, ErrorCode::kCorruptFile,
               {"key 'num_hidden_layers or n_layer or num_layers or n_layers' is missing"});
  MadeFile gguf = gguf_config("llama");
  gguf.set("llama.block_count", std::monostate{});
  expect_error([&] { read_common(gguf); }, ErrorCode::kCorruptFile,
               {"key 'llama.block_count' is missing"});
}

TEST(ConfigReader, Activations) {
  const MadeFile file = hf_config(kClass);
  const ConfigReader reader(file.file());
  using kernels::Activation;
  EXPECT_EQ(reader.activation("silu"), Activation::kSilu);
  EXPECT_EQ(reader.activation("swish"), Activation::kSilu);
  EXPECT_EQ(reader.activation("gelu"), Activation::kGeluErf);
  EXPECT_EQ(reader.activation("gelu_new"), Activation::kGeluTanh);
  EXPECT_EQ(reader.activation("gelu_pytorch_tanh"), Activation::kGeluTanh);
  EXPECT_EQ(reader.activation("quick_gelu"), Activation::kQuickGelu);
  EXPECT_EQ(reader.activation("relu"), Activation::kRelu);
  EXPECT_EQ(reader.activation("relu2"), Activation::kRelu2);
  expect_error([&] { return reader.activation("mish"); }, ErrorCode::kUnsupported,
               {"model/config.json", "activation 'mish' is not supported yet"});
}

TEST(ConfigReader, LayerTypesDecideWhatSlides) {
  MadeFile file = hf_config(kClass);
  const ConfigReader reader(file.file());
  EXPECT_TRUE(reader.is_sliding(0, true));
  EXPECT_FALSE(reader.is_sliding(0, false));
  file.set("layer_types", std::vector<std::string>{"full_attention", "sliding_attention"});
  EXPECT_FALSE(reader.is_sliding(0, true));
  EXPECT_TRUE(reader.is_sliding(1, false));
  EXPECT_TRUE(reader.is_sliding(2, true));  // beyond the list
}

TEST(ConfigReader, ExpertsOfBothFormats) {
  MadeFile hf = hf_config(kClass);
  hf.set("n_routed_experts", int64_t{8}).set("moe_intermediate_size", int64_t{24});
  hf.set("num_experts_per_tok", int64_t{3}).set("n_group", int64_t{4});
  hf.set("topk_group", int64_t{2}).set("routed_scaling_factor", 2.5).set("norm_topk_prob", true);
  MadeFile gguf = gguf_config("llama");
  gguf.set("llama.expert_count", uint64_t{8}).set("llama.expert_used_count", uint64_t{3});
  gguf.set("llama.expert_feed_forward_length", uint64_t{24});
  gguf.set("llama.expert_group_count", uint64_t{4});
  gguf.set("llama.expert_group_used_count", uint64_t{2});
  gguf.set("llama.expert_weights_scale", 2.5).set("llama.expert_weights_norm", true);
  for (const MadeFile* file : {&hf, &gguf}) {
    const ExpertOptions experts = ConfigReader(file->file()).experts();
    EXPECT_EQ(experts.n_experts, 8);
    EXPECT_EQ(experts.ffn_size, 24);
    EXPECT_EQ(experts.router.n_used, 3);
    EXPECT_EQ(experts.router.n_groups, 4);
    EXPECT_EQ(experts.router.groups_used, 2);
    EXPECT_EQ(experts.router.scale, 2.5F);
    EXPECT_TRUE(experts.router.renormalize);
  }
  MadeFile bare = hf_config(kClass);  // the width of a dense layer, one group, no scale
  bare.set("num_local_experts", int64_t{4}).set("num_experts_per_tok", int64_t{2});
  const ExpertOptions experts = ConfigReader(bare.file()).experts();
  EXPECT_EQ(experts.ffn_size, 96);
  EXPECT_EQ(experts.router.n_groups, 1);
  EXPECT_EQ(experts.router.scale, 1.0F);
  EXPECT_FALSE(experts.router.renormalize);
  bare.set("num_experts_per_tok", int64_t{0});
  expect_error([&] { return ConfigReader(bare.file()).experts(); }, ErrorCode::kCorruptFile,
               {"num_experts_per_tok"});
}

// arXiv 2108.12409: for 8 heads 1/2 ... 1/256; other numbers take every second of the next power.
TEST(ConfigReader, AlibiSlopes) {
  const std::vector<float> eight = alibi_slopes(8);
  ASSERT_EQ(eight.size(), 8U);
  for (int k = 0; k < 8; ++k) {
    EXPECT_EQ(eight[static_cast<size_t>(k)], 1.0F / static_cast<float>(2 << k));
  }
  const std::vector<float> six = alibi_slopes(6);
  const std::vector<float> expected = {0.25F, 0.0625F, 0.015625F, 0.00390625F, 0.5F, 0.125F};
  EXPECT_EQ(six, expected);
  EXPECT_EQ(alibi_slopes(1), (std::vector<float>{0.00390625F}));
}

}  // namespace
}  // namespace fathom::model
