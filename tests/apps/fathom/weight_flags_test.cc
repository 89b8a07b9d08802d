// --lora, --merge-lora, --override, --check-tensors and --packed-cache from outside. Read next:
// apps/fathom/weight_flags.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "support/model_rig.h"
#include "support/program.h"
#include "support/temp_folder.h"
#include "support/test_data.h"
#include "support/tiny_chat_model.h"
#include "weights/model_file.h"

namespace fathom::app {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::string kParity = test::test_data("parity");
const std::string kBase = kParity + "/models/llama";
const std::string kAdapter = kParity + "/lora/llama-all";

test::ProgramResult run(std::vector<std::string> arguments) {
  return test::run_program(FATHOM_PROGRAM, {.arguments = std::move(arguments)});
}

json expected_of(const std::string& folder) {
  std::ifstream in(folder + "/expected.json");
  return json::parse(in);
}

// Arguments that answer a case of tests/parity/lora, and more.
std::vector<std::string> answer(const json& expected, std::vector<std::string> more) {
  std::string ids;
  for (const json& id : expected.at("input_ids")) {
    ids += (ids.empty() ? "" : ",") + id.dump();
  }
  std::vector<std::string> arguments = {"run",          "-m",        kBase,    "--ids", ids,
                                        "-n",           "8",         "--temp", "0",     "--json",
                                        "--ignore-eos", "--compute", "f32",    "-c",    "64"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(WeightFlagsTest, PackedWeightsAreKeptAndGiveTheSameAnswer) {
  const json expected = expected_of(kAdapter);
  const test::TempFolder cache;
  const auto run_cached = [&](std::vector<std::string> more) {
    more.push_back("--packed-cache");
    return test::run_program(FATHOM_PROGRAM, {.arguments = answer(expected, std::move(more)),
                                              .environment = {"XDG_CACHE_HOME=" + cache.path()}});
  };
  const auto tokens_of = [](const test::ProgramResult& result) {
    return json::parse(result.out).at("tokens");
  };
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{}, {"--lora", kAdapter, "--merge-lora"}}) {
    const json plain = tokens_of(run(answer(expected, more)));
    const auto first = run_cached(more);
    EXPECT_THAT(first.err, HasSubstr("packed weights are kept in " + cache.path()));
    EXPECT_EQ(tokens_of(first), plain);
    const auto second = run_cached(more);
    EXPECT_THAT(second.err, testing::Not(HasSubstr("packed weights")));
    EXPECT_EQ(tokens_of(second), plain);
  }
}

TEST(WeightFlagsTest, AdaptersWorkBesideAndMerged) {
  const json expected = expected_of(kAdapter);
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--lora", kAdapter},
        {"--lora", kAdapter, "--merge-lora"},
        {"--lora", kAdapter + "=0.5", "--lora", kAdapter + "=0.5"}}) {
    const auto result = run(answer(expected, more));
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(json::parse(result.out).at("tokens"), expected.at("greedy"));
  }
  const auto base = run(answer(expected, {}));
  EXPECT_NE(json::parse(base.out).at("tokens"), expected.at("greedy"));
  EXPECT_EQ(run(answer(expected, {"--lora", kAdapter + "=0"})).out.substr(0, 20),
            base.out.substr(0, 20));
}

TEST(WeightFlagsTest, WrongAdaptersAreNamed) {
  const json expected = expected_of(kAdapter);
  const auto status_of = [&](const std::vector<std::string>& more, const char* part) {
    const auto result = run(answer(expected, more));
    EXPECT_THAT(result.err, HasSubstr(part));
    return result.status;
  };
  EXPECT_EQ(status_of({"--lora", "nowhere"}, "nowhere: no adapter_config.json"), 1);
  EXPECT_EQ(status_of({"--lora", kParity + "/lora/phi3-fused"}, "qkv_proj.lora_A.weight"), 1);
  EXPECT_EQ(status_of({"--lora", "=0.5"}, "DIR=SCALE"), 2);
  EXPECT_EQ(status_of({"--lora", "x=inf"}, "expected -10000 to 10000"), 2);
  EXPECT_EQ(status_of({"--lora", "x=1e30"}, "'x=1e30': found the scale 1e+30"), 2);
  EXPECT_EQ(status_of({"--merge-lora"}, "--lora"), 2);
}

TEST(WeightFlagsTest, PlansCountAdapters) {
  const auto weights_of = [](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"plan", "-m", kBase, "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto result = run(arguments);
    EXPECT_EQ(result.status, 0) << result.err;
    return result.out;
  };
  EXPECT_NE(weights_of({"--lora", kAdapter}), weights_of({}));
  EXPECT_EQ(run({"plan", "-m", kBase, "--check-tensors"}).status, 2);
}

TEST(WeightFlagsTest, OverridesAreWhatTheModelIsMadeOf) {
  const json expected = expected_of(kAdapter);
  EXPECT_THAT(run({"inspect", "-m", kBase, "--override", "rope_theta=123.5"}).out,
              HasSubstr("123.5"));
  const auto plan = run({"plan", "-m", kBase, "--override", "max_position_embeddings=77",
                         "--override", "rope_theta=null"});
  EXPECT_EQ(plan.status, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("context 77"));
  const auto changed = run(answer(expected, {"--override", "rms_norm_eps=0.5"}));
  EXPECT_EQ(changed.status, 0) << changed.err;
  const auto base = run(answer(expected, {}));
  EXPECT_NE(json::parse(changed.out).at("tokens"), json::parse(base.out).at("tokens"));
  const auto refused = run(answer(expected, {"--override", "hidden_size=wide"}));
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("hidden_size"));
  EXPECT_EQ(run(answer(expected, {"--override", "hidden_size"})).status, 2);
  EXPECT_EQ(run(answer(expected, {"--override", "=3"})).status, 2);
}

TEST(WeightFlagsTest, MisspelledOverridesAreRefused) {
  for (const char* command : {"plan", "inspect"}) {
    const auto result = run({command, "-m", kBase, "--override", "rope_tehta=3"});
    EXPECT_EQ(result.status, 1) << command;
    EXPECT_THAT(result.err, HasSubstr("override of key 'rope_tehta'")) << command;
    EXPECT_THAT(result.err, HasSubstr("rope_theta")) << command;
  }
}

// What follows an option that may be repeated is not taken for another value of it.
TEST(WeightFlagsTest, RepeatedOptionsSwallowNothing) {
  const test::TempFolder folder;
  const std::string model = test::tiny_chat_gguf().write(folder.path_of("m.gguf"));
  const std::vector<std::string> plain = {"tokenize", "-m", model, "hi"};
  const std::vector<std::string> overridden = {
      "tokenize",          "-m", model, "--override", R"(general.name="a")", "--override",
      R"(general.name=b)", "hi"};
  const auto result = run(overridden);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, run(plain).out);
  for (const std::vector<std::string>& option :
       {std::vector<std::string>{"--override", "llama.block_count=2"},
        {"--lora", "folder"},
        {"--stop", "end"},
        {"--logit-bias", "5=1"}}) {
    std::vector<std::string> arguments = {"run", "-m", model, "-p", "x"};
    arguments.insert(arguments.end(), option.begin(), option.end());
    arguments.emplace_back("stray");
    const auto refused = run(arguments);
    EXPECT_EQ(refused.status, 2) << option[0];
    EXPECT_THAT(refused.err, HasSubstr("stray")) << option[0];
    EXPECT_THAT(refused.err, testing::Not(HasSubstr("'stray' is not"))) << option[0];
  }
}

// Makes one value of a tensor NaN.
void damage(const std::string& path, const std::string& name, int64_t row, int64_t column) {
  int64_t offset = 0;
  {
    const auto model = weights::open_model(path);
    const FileTensor* tensor = model->tensors.find(name);
    ASSERT_NE(tensor, nullptr);
    offset = tensor->bytes.data() - model->tensors.file_of(name)->bytes().data() +
             4 * (row * tensor->n_cols() + column);
  }
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(offset);
  file.write("\x00\x00\xc0\x7f", 4);
}

TEST(WeightFlagsTest, CheckTensorsNamesTensorRowAndBlock) {
  const test::TempFolder folder;
  const std::string path = test::tiny_gguf({}).write(folder.path_of("m.gguf"));
  const std::vector<std::string> arguments = {"run", "-m", path,     "--ids",          "1,2,3",
                                              "-n",  "2",  "--json", "--check-tensors"};
  EXPECT_EQ(run(arguments).status, 0);
  damage(path, "blk.1.ffn_down.weight", 5, 40);
  damage(path, "blk.0.attn_norm.weight", 0, 3);
  const auto result = run(arguments);
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("2 of 21 tensors"));
  EXPECT_THAT(result.err, HasSubstr("'blk.1.ffn_down.weight' (F32) row 5 block 1"));
  EXPECT_THAT(result.err, HasSubstr("'blk.0.attn_norm.weight' (F32) row 0 block 0"));
}

TEST(WeightFlagsTest, LearnedPositionsBoundTheContext) {
  const std::string model = kParity + "/models/gpt2";
  const std::vector<std::string> arguments = {"run", "-m", model, "--ids", "5,6", "-n", "2", "-c"};
  std::vector<std::string> fits = arguments;
  fits.emplace_back("64");
  EXPECT_EQ(run(fits).status, 0);
  std::vector<std::string> too_long = arguments;
  too_long.emplace_back("65");
  const auto result = run(too_long);
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("context 65 is longer than the 64 positions"));
  std::vector<std::string> full = {"run", "-m", model, "--ids", "5,6", "--ignore-eos", "-c"};
  full.emplace_back("64");
  EXPECT_THAT(run(full).err, HasSubstr("is full; the model has learned no more positions"));
  full.back() = "8";
  EXPECT_THAT(run(full).err, HasSubstr("is full; -c takes more"));
  std::string long_prompt = "5";
  for (int i = 0; i < 64; ++i) {
    long_prompt += ",5";
  }
  const auto refused = run({"run", "-m", model, "--ids", long_prompt});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("the model has learned no more positions"));
}

// A model without a vocabulary answers in ids, as --ids takes them.
TEST(WeightFlagsTest, ModelsWithoutAVocabularyAnswerInIds) {
  const json expected = expected_of(kAdapter);
  const auto as_json = json::parse(run(answer(expected, {})).out);
  std::vector<std::string> arguments = answer(expected, {});
  std::erase(arguments, "--json");
  const auto result = run(arguments);
  EXPECT_EQ(result.status, 0) << result.err;
  std::string ids;
  for (const int id : as_json.at("tokens")) {
    ids += (ids.empty() ? "" : ",") + std::to_string(id);
  }
  EXPECT_EQ(result.out, ids + "\n");
}

}  // namespace
}  // namespace fathom::app
