// From names to views: every layout, stacks and single experts, names with alternatives, and the
// report of everything that does not fit.
#include "model/bind.h"

#include <gtest/gtest.h>

#include "src/model/made_file.h"
#include "support/error_check.h"

namespace fathom::model {
namespace {

using test::expect_error;
using test::MadeFile;
using test::rows_read;
using test::small_config;
using test::small_file;

using Numbers = std::vector<int64_t>;

const std::string kLayer = "model.layers.0.";

// first, run, step, rows of the tensor
Numbers place(Part part, Layout layout, int n_kv_heads, int64_t n_rows = 0) {
  LayerOptions layer;
  layer.n_heads = 4;
  layer.n_kv_heads = n_kv_heads;
  layer.head_dim = 8;
  const RowPlace rows = place_rows(part, layout, {true, 0, n_rows, 16}, &layer);
  return {rows.first, rows.run, rows.step, rows.tensor_rows};
}

TEST(Bind, PlacesOfFusedQueriesKeysAndValues) {
  EXPECT_EQ(place(Part::kQ, Layout::kQkvBlocks, 2), (Numbers{0, 1, 1, 64}));
  EXPECT_EQ(place(Part::kK, Layout::kQkvBlocks, 2), (Numbers{32, 1, 1, 64}));
  EXPECT_EQ(place(Part::kV, Layout::kQkvBlocks, 2), (Numbers{48, 1, 1, 64}));
  EXPECT_EQ(place(Part::kQ, Layout::kQkvHeads, 4), (Numbers{0, 8, 24, 96}));
  EXPECT_EQ(place(Part::kK, Layout::kQkvHeads, 4), (Numbers{8, 8, 24, 96}));
  EXPECT_EQ(place(Part::kV, Layout::kQkvHeads, 4), (Numbers{16, 8, 24, 96}));
  EXPECT_EQ(place(Part::kQ, Layout::kQkvGroups, 2), (Numbers{0, 16, 32, 64}));
  EXPECT_EQ(place(Part::kK, Layout::kQkvGroups, 2), (Numbers{16, 8, 32, 64}));
  EXPECT_EQ(place(Part::kV, Layout::kQkvGroups, 2), (Numbers{24, 8, 32, 64}));
}

TEST(Bind, PlacesOfGateAndUp) {
  for (const auto& [gate, up] :
       {std::pair{Part::kGate, Part::kUp}, std::pair{Part::kExpertGate, Part::kExpertUp}}) {
    EXPECT_EQ(place(gate, Layout::kGateUpBlocks, 2, 5), (Numbers{0, 1, 1, 10}));
    EXPECT_EQ(place(up, Layout::kGateUpBlocks, 2, 5), (Numbers{5, 1, 1, 10}));
    EXPECT_EQ(place(gate, Layout::kGateUpPairs, 2, 5), (Numbers{0, 1, 2, 10}));
    EXPECT_EQ(place(up, Layout::kGateUpPairs, 2, 5), (Numbers{1, 1, 2, 10}));
  }
  EXPECT_EQ(place(Part::kDown, Layout::kPlain, 2, 5), (Numbers{0, 1, 1, 5}));
}

TEST(Bind, NamesOfPartsAndBiases) {
  EXPECT_EQ(name_of("model.layers.{i}.experts.{e}.w1.weight", 12, 3),
            "model.layers.12.experts.3.w1.weight");
  EXPECT_EQ(name_of("output.weight", 12, 3), "output.weight");
  EXPECT_EQ(bias_name("a.b.weight"), "a.b.bias");
  EXPECT_EQ(bias_name("mlp.experts.down_proj"), "mlp.experts.down_proj_bias");
}

TEST(Bind, RulesReplaceTheCommonNames) {
  const TensorRule rules[] = {{Part::kUp, "", "mlp.fc1.weight"}};
  EXPECT_EQ(place_of(weights::Source::kHuggingFace, rules, Part::kUp).name, "mlp.fc1.weight");
  EXPECT_EQ(place_of(weights::Source::kGguf, rules, Part::kUp).name, "");
  EXPECT_EQ(place_of(weights::Source::kGguf, rules, Part::kDown).name, "blk.{i}.ffn_down.weight");
}

TEST(Bind, BindsAPlainLayer) {
  const MadeFile file = small_file();
  ModelConfig config = small_config();
  const Bindings bound = bind_tensors(file.file(), {}, config);
  ASSERT_EQ(bound.layers.size(), 1U);
  EXPECT_EQ(bound.of_model(Part::kEmbedding).weights.front().tensor->name,
            "model.embed_tokens.weight");
  const MatrixView& down = bound.of_layer(0, Part::kDown).weights.front();
  EXPECT_EQ(down.tensor->name, kLayer + "mlp.down_proj.weight");
  EXPECT_EQ(rows_read(down), (Numbers{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_FALSE(bound.of_layer(0, Part::kQNorm).is_bound());
  EXPECT_TRUE(bound.of_layer(0, Part::kQ).biases.empty());
}

// Replaces q, k and v by one tensor.
MadeFile fused_file(std::vector<int64_t> shape, int64_t bias = 0) {
  MadeFile file = small_file();
  for (const char* one : {"q", "k", "v"}) {
    file.remove(kLayer + "self_attn." + one + "_proj.weight");
  }
  file.add(kLayer + "qkv.weight", std::move(shape));
  if (bias > 0) {
    std::vector<float> values;
    for (int64_t i = 0; i < bias; ++i) {
      values.push_back(static_cast<float>(i));
    }
    file.add(kLayer + "qkv.bias", {bias}, values);
  }
  return file;
}

std::vector<TensorRule> qkv_rules(Layout layout, bool transposed) {
  const FilePlace place = {"model.layers.{i}.qkv.weight", layout, transposed};
  return {{Part::kQ, "", place}, {Part::kK, "", place}, {Part::kV, "", place}};
}

TEST(Bind, FusedRowsOfEachHead) {
  const MadeFile file = fused_file({16, 8}, 16);
  ModelConfig config = small_config();
  config.layers.front().qkv_bias = true;
  const Bindings groups = bind_tensors(file.file(), qkv_rules(Layout::kQkvGroups, false), config);
  EXPECT_EQ(rows_read(groups.of_layer(0, Part::kQ).weights.front()),
            (Numbers{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(rows_read(groups.of_layer(0, Part::kK).weights.front()), (Numbers{8, 9, 10, 11}));
  EXPECT_EQ(read_floats(groups.of_layer(0, Part::kV).biases.front()),
            (std::vector<float>{12, 13, 14, 15}));

  config.layers.front().n_kv_heads = 2;
  const MadeFile heads_file = fused_file({24, 8}, 24);
  const Bindings heads =
      bind_tensors(heads_file.file(), qkv_rules(Layout::kQkvHeads, false), config);
  EXPECT_EQ(rows_read(heads.of_layer(0, Part::kQ).weights.front()),
            (Numbers{0, 1, 2, 3, 12, 13, 14, 15}));
  EXPECT_EQ(rows_read(heads.of_layer(0, Part::kV).weights.front()),
            (Numbers{8, 9, 10, 11, 20, 21, 22, 23}));
  EXPECT_EQ(read_floats(heads.of_layer(0, Part::kK).biases.front()),
            (std::vector<float>{4, 5, 6, 7, 16, 17, 18, 19}));
}

TEST(Bind, TransposedTensorsHaveTheirPartsInColumns) {
  const MadeFile file = fused_file({8, 16});
  ModelConfig config = small_config();
  const Bindings bound = bind_tensors(file.file(), qkv_rules(Layout::kQkvBlocks, true), config);
  const MatrixView& k = bound.of_layer(0, Part::kK).weights.front();
  EXPECT_TRUE(k.transposed);
  EXPECT_EQ(rows_read(k), (Numbers{8, 9, 10, 11}));
  EXPECT_EQ(read_floats(k)[1], 1008);  // row 0, column 1: file row 1
}

// Replaces the feed-forward by three experts of 2; `names` are gate, up and down.
ModelConfig expert_config() {
  ModelConfig config = small_config();
  ExpertOptions experts;
  experts.n_experts = 3;
  experts.ffn_size = 2;
  config.layers.front().experts = experts;
  return config;
}

MadeFile expert_file() {
  MadeFile file = small_file();
  for (const char* one : {"gate", "up", "down"}) {
    file.remove(kLayer + "mlp." + one + "_proj.weight");
  }
  file.add(kLayer + "mlp.gate.weight", {3, 8});
  return file;
}

TEST(Bind, OneTensorPerExpert) {
  MadeFile file = expert_file();
  for (int e = 0; e < 3; ++e) {
    const std::string expert = kLayer + "mlp.experts." + std::to_string(e);
    file.add(expert + ".gate_proj.weight", {2, 8});
    file.add(expert + ".up_proj.weight", {2, 8});
    file.add(expert + ".down_proj.weight", {8, 2});
  }
  ModelConfig config = expert_config();
  const Bindings bound = bind_tensors(file.file(), {}, config);
  const BoundPart& up = bound.of_layer(0, Part::kExpertUp);
  ASSERT_EQ(up.weights.size(), 3U);
  EXPECT_EQ(up.weights[2].tensor->name, kLayer + "mlp.experts.2.up_proj.weight");
  EXPECT_EQ(rows_read(up.weights[2]), (Numbers{0, 1}));
}

TEST(Bind, StackedExpertsWithGateAndUpInOne) {
  MadeFile file = expert_file();
  file.add(kLayer + "in.weight", {3, 4, 8}).add(kLayer + "out.weight", {3, 8, 2});
  file.add(kLayer + "in.bias", {3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  file.add(kLayer + "out.bias", {3, 8});
  ModelConfig config = expert_config();
  config.layers.front().experts->bias = true;
  const auto bind = [&](Layout layout) {
    const TensorRule rules[] = {{Part::kExpertGate, "", {"model.layers.{i}.in.weight", layout}},
                                {Part::kExpertUp, "", {"model.layers.{i}.in.weight", layout}},
                                {Part::kExpertDown, "", "model.layers.{i}.out.weight"}};
    return bind_tensors(file.file(), rules, config);
  };
  const Bindings blocks = bind(Layout::kGateUpBlocks);
  EXPECT_EQ(rows_read(blocks.of_layer(0, Part::kExpertGate).weights[1]), (Numbers{4, 5}));
  EXPECT_EQ(rows_read(blocks.of_layer(0, Part::kExpertUp).weights[1]), (Numbers{6, 7}));
  EXPECT_EQ(rows_read(blocks.of_layer(0, Part::kExpertDown).weights[2]),
            (Numbers{16, 17, 18, 19, 20, 21, 22, 23}));
  EXPECT_EQ(read_floats(blocks.of_layer(0, Part::kExpertUp).biases[1]), (std::vector<float>{6, 7}));
  const Bindings pairs = bind(Layout::kGateUpPairs);
  EXPECT_EQ(rows_read(pairs.of_layer(0, Part::kExpertGate).weights[2]), (Numbers{8, 10}));
  EXPECT_EQ(rows_read(pairs.of_layer(0, Part::kExpertUp).weights[2]), (Numbers{9, 11}));
  EXPECT_EQ(read_floats(pairs.of_layer(0, Part::kExpertGate).biases[2]),
            (std::vector<float>{8, 10}));
}

// Stored [expert, in, out], as floats; blocks of the same family lie [expert, out, in].
TEST(Bind, TransposedStacks) {
  MadeFile file = expert_file();
  file.add(kLayer + "in.weight", {3, 8, 4}).add(kLayer + "out.weight", {3, 2, 8});
  const TensorRule rules[] = {
      {Part::kExpertGate, "", {"model.layers.{i}.in.weight", Layout::kGateUpPairs, true}},
      {Part::kExpertUp, "", {"model.layers.{i}.in.weight", Layout::kGateUpPairs, true}},
      {Part::kExpertDown, "", {"model.layers.{i}.out.weight", Layout::kPlain, true}}};
  ModelConfig config = expert_config();
  const Bindings bound = bind_tensors(file.file(), rules, config);
  const MatrixView& up = bound.of_layer(0, Part::kExpertUp).weights[2];
  EXPECT_EQ(up.origin, 16);
  EXPECT_EQ(rows_read(up), (Numbers{1, 3}));
  EXPECT_EQ(read_floats(up)[0], 16001);

  file.remove(kLayer + "in.weight");
  config.hidden_size = 32;
  const Numbers quantized = {3, 4, 32};
  file.add(kLayer + "in.weight", DType::kQ8_0, quantized, std::vector<std::byte>(12 * 34));
  try {
    bind_tensors(file.file(), rules, config);
    ADD_FAILURE() << "the other tensors have another hidden size";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("in.weight"), std::string::npos) << error.what();
  }
}

TEST(Bind, HeadsOfLatentAttention) {
  MadeFile file = small_file();
  for (const char* one : {"q", "k", "v", "o"}) {
    file.remove(kLayer + "self_attn." + one + "_proj.weight");
  }
  ModelConfig config = small_config();
  config.layers.front().latent =
      LatentOptions{.q_rank = 0, .kv_rank = 5, .nope_dim = 3, .rope_dim = 2, .value_dim = 2};
  file.add(kLayer + "self_attn.q_proj.weight", {10, 8});
  file.add(kLayer + "self_attn.o_proj.weight", {8, 4});
  file.add(kLayer + "self_attn.kv_a_proj_with_mqa.weight", {7, 8});
  file.add(kLayer + "self_attn.kv_a_layernorm.weight", {5});
  file.add(kLayer + "self_attn.kv_b_proj.weight", {10, 5});  // per head 3 of k, 2 of v
  const Bindings bound = bind_tensors(file.file(), {}, config);
  const MatrixView& k = bound.of_layer(0, Part::kKB).weights[1];
  EXPECT_EQ(k.n_rows, 5);
  EXPECT_EQ(k.n_cols, 3);
  EXPECT_EQ(read_floats(k), (std::vector<float>{5000, 6000, 7000, 5001, 6001, 7001, 5002, 6002,
                                                7002, 5003, 6003, 7003, 5004, 6004, 7004}));
  EXPECT_EQ(rows_read(bound.of_layer(0, Part::kVB).weights[1]), (Numbers{8, 9}));
}

TEST(Bind, NormsOfEachHeadInOneTensorOrMany) {
  MadeFile file = small_file();
  file.add(kLayer + "self_attn.q_norm.weight", {2, 4});
  file.add(kLayer + "self_attn.k_norm.weight", {4});  // one head: a plain vector
  ModelConfig config = small_config();
  config.layers.front().qk_norm = QkNorm::kEachHead;
  const Bindings one = bind_tensors(file.file(), {}, config);
  EXPECT_EQ(rows_read(one.of_layer(0, Part::kQNorm).weights.front()), (Numbers{0, 1}));
  file.remove(kLayer + "self_attn.q_norm.weight").remove(kLayer + "self_attn.k_norm.weight");
  for (const char* name : {"q.0", "q.1", "k.0"}) {
    file.add(kLayer + name, {4});
  }
  const TensorRule rules[] = {{Part::kQNorm, "", "model.layers.{i}.q.{e}"},
                              {Part::kKNorm, "", "model.layers.{i}.k.{e}"}};
  const Bindings many = bind_tensors(file.file(), rules, config);
  ASSERT_EQ(many.of_layer(0, Part::kQNorm).weights.size(), 2U);
  EXPECT_EQ(many.of_layer(0, Part::kQNorm).weights[1].tensor->name, kLayer + "q.1");
}

TEST(Bind, TheFirstOfSeveralNamesWins) {
  const TensorRule rules[] = {{Part::kAttnNorm, "",
                               "model.layers.{i}.ln_a.weight|model.layers.{i}.ln_b.weight|"
                               "model.layers.{i}.input_layernorm.weight"}};
  const auto name = [&](const MadeFile& file) {
    ModelConfig config = small_config();
    return bind_tensors(file.file(), rules, config)
        .of_layer(0, Part::kAttnNorm)
        .weights.front()
        .tensor->name;
  };
  MadeFile file = small_file();
  EXPECT_EQ(name(file), kLayer + "input_layernorm.weight");
  file.rename(kLayer + "input_layernorm.weight", kLayer + "ln_b.weight");
  EXPECT_EQ(name(file), kLayer + "ln_b.weight");
  file.rename(kLayer + "ln_b.weight", kLayer + "ln_a.weight");
  EXPECT_EQ(name(file), kLayer + "ln_a.weight");
  file.remove(kLayer + "ln_a.weight");
  expect_error([&] { name(file); }, ErrorCode::kCorruptFile, {"input_layernorm.weight: missing"});
}

// A checkpoint of the bare trunk: "layers.0..." for "model.layers.0...".
TEST(Bind, ABareTrunkLacksTheFirstWord) {
  MadeFile file = small_file();
  std::vector<std::string> names;
  for (const auto& [name, tensor] : file.file().tensors.tensors()) {
    names.push_back(name);
  }
  for (const std::string& name : names) {
    if (name.starts_with("model.")) {
      file.rename(name, name.substr(6));
    }
  }
  ModelConfig config = small_config();
  const Bindings bound = bind_tensors(file.file(), {}, config);
  EXPECT_EQ(bound.of_layer(0, Part::kQ).weights.front().tensor->name,
            "layers.0.self_attn.q_proj.weight");
  EXPECT_EQ(bound.of_model(Part::kHead).weights.front().tensor->name, "lm_head.weight");
}

// GGUF's metadata is silent about these: what is in the file is in the model.
TEST(Bind, GgufTellsByWhatItHas) {
  MadeFile file(weights::Source::kGguf);
  file.add("token_embd.weight", {10, 8}).add("output_norm.weight", {8});
  file.add("rope_freqs.weight", {2});
  const std::string blk = "blk.0.";
  for (const char* one : {"attn_norm", "ffn_norm"}) {
    file.add(blk + one + ".weight", {8});
  }
  file.add(blk + "attn_q.weight", {8, 8}).add(blk + "attn_q.bias", {8});
  file.add(blk + "attn_k.weight", {4, 8}).add(blk + "attn_k.bias", {4});
  file.add(blk + "attn_v.weight", {4, 8}).add(blk + "attn_v.bias", {4});
  file.add(blk + "attn_output.weight", {8, 8});
  file.add(blk + "ffn_gate.weight", {6, 8}).add(blk + "ffn_up.weight", {6, 8});
  file.add(blk + "ffn_down.weight", {8, 6});
  ModelConfig config = small_config();
  const Bindings bound = bind_tensors(file.file(), {}, config);
  EXPECT_TRUE(config.tied_head);
  EXPECT_TRUE(config.layers.front().qkv_bias);
  EXPECT_FALSE(config.layers.front().output_bias);
  EXPECT_FALSE(config.layers.front().ffn_bias);
  EXPECT_TRUE(config.ropes.front().file_divisors);
  EXPECT_TRUE(bound.of_model(Part::kRopeDivisors).is_bound());
  EXPECT_EQ(bound.of_layer(0, Part::kK).biases.size(), 1U);
  file.add("output.weight", {10, 8}).add("output.bias", {10});
  bind_tensors(file.file(), {}, config);
  EXPECT_FALSE(config.tied_head);
  EXPECT_TRUE(config.head_bias);
}

}  // namespace
}  // namespace fathom::model
