// fathom verify as a program: its table, its JSON, its status.
// Read next: apps/fathom/verify.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "support/program.h"
#include "support/temp_folder.h"
#include "support/tiny_chat_model.h"

namespace fathom::app {
namespace {

using testing::HasSubstr;

TEST(VerifyTest, TableAndJsonAgree) {
  const test::TempFolder folder;
  const std::string model = test::tiny_chat_gguf().write(folder.path_of("m.gguf"));
  const auto text = test::run_program(
      FATHOM_PROGRAM, {.arguments = {"verify", "-m", model, "-c", "350", "-n", "4", "-t", "1"}});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("all bits are equal"));
  EXPECT_THAT(text.out, HasSubstr("pre-emptions"));
  const auto result = test::run_program(
      FATHOM_PROGRAM,
      {.arguments = {"verify", "-m", model, "-c", "350", "-n", "4", "-t", "1", "--json"}});
  ASSERT_EQ(result.status, 0) << result.err;
  const auto report = nlohmann::json::parse(result.out);
  EXPECT_EQ(report["equal"], true);
  EXPECT_EQ(report["prompts"], 7);
  EXPECT_EQ(report["tokens"], 7 * 4);
  EXPECT_GE(report["ways"].size(), 10U);
  EXPECT_THAT(text.out, HasSubstr(report["bits"].get<std::string>()));
}

TEST(VerifyTest, SaysWhatIsWrongWithAModel) {
  const test::TempFolder folder;
  const std::string whole = test::tiny_chat_gguf().write(folder.path_of("m.gguf"));
  const std::string bytes = test::read_text(whole);
  const test::TempFolder bare;
  const std::vector<std::pair<std::string, std::string>> models = {
      {folder.path_of("absent"), "absent"},
      {folder.write("empty.gguf", ""), "the file is empty"},
      {folder.write("magic.gguf", "FUGG" + bytes.substr(4)), "magic.gguf"},
      {folder.write("head.gguf", bytes.substr(0, 100)), "head.gguf"},
      {folder.write("tensors.gguf", bytes.substr(0, bytes.size() - 4096)), "tensors.gguf"},
      {bare.path(), "config.json"}};
  for (const auto& [model, why] : models) {
    const auto result =
        test::run_program(FATHOM_PROGRAM, {.arguments = {"verify", "-m", model, "-t", "1"}});
    EXPECT_EQ(result.status, 1) << model;
    EXPECT_THAT(result.err, HasSubstr(why));
    EXPECT_THAT(result.err, HasSubstr(model));
    EXPECT_EQ(result.out, "") << model;
  }
}

// The gate: no receipt, then one that admits the model.
TEST(VerifyTest, FastPromptsNeedAReceipt) {
  const test::TempFolder folder;
  test::TinySizes sizes;
  sizes.weight_type = DType::kQ8_0;
  const std::string model = test::tiny_chat_gguf(sizes).write(folder.path_of("m.gguf"));
  const std::string text = folder.path_of("text");
  std::ofstream(text) << std::string(1100, 'a') << "some text";
  const auto fathom = [&](std::vector<std::string> arguments) {
    return test::run_program(FATHOM_PROGRAM,
                             {.arguments = std::move(arguments),
                              .environment = {"XDG_STATE_HOME=" + folder.path_of("state")}});
  };
  const std::vector<std::string> run = {"run", "-m",           model,  "-p", "abc", "-n",
                                        "4",   "--arithmetic", "fast", "-t", "1"};
  const auto refused = fathom(run);
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("fathom verify -m " + model + " --arithmetic fast -f TEXT"));
  EXPECT_THAT(refused.err, HasSubstr("0.005"));
  const auto usage = fathom({"verify", "-m", model, "--arithmetic", "fast"});
  EXPECT_EQ(usage.status, 2);
  EXPECT_THAT(usage.err, HasSubstr("-f"));
  const auto measured = fathom({"verify", "-m", model, "-c", "350", "-n", "4", "-t", "1",
                                "--arithmetic", "fast", "-f", text, "--json"});
  const auto report = nlohmann::json::parse(measured.out);
  EXPECT_EQ(report["equal"], true);
  EXPECT_EQ(report["fast"]["tokens"], 2 * 255);
  const double divergence = report["fast"]["kl_to_f32"];
  EXPECT_GT(divergence, 0.0);
  ASSERT_LT(divergence, 0.005);  // a tiny random model predicts next to nothing
  EXPECT_EQ(measured.status, 0) << measured.err;
  const auto admitted = fathom(run);
  EXPECT_EQ(admitted.status, 0) << admitted.err;
  EXPECT_THAT(admitted.err, HasSubstr("arithmetic: fast (int8 per 256) for prompts"));
  auto both = run;
  both.insert(both.end(), {"--compute", "f32"});
  EXPECT_EQ(fathom(both).status, 2);
}

}  // namespace
}  // namespace fathom::app
