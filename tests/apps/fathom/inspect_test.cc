// fathom inspect from outside. Read next: apps/fathom/inspect.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/program.h"
#include "support/temp_folder.h"
#include "support/tiny_chat_model.h"

namespace fathom::app {
namespace {

using nlohmann::json;
using testing::HasSubstr;

test::ProgramResult inspect(std::vector<std::string> more,
                            std::vector<std::string> environment = {}) {
  std::vector<std::string> arguments = {"inspect"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return test::run_program(FATHOM_PROGRAM,
                           {.arguments = arguments, .environment = std::move(environment)});
}

TEST(InspectTest, ShowsMetadataTensorsVocabularyTemplateAndLicence) {
  const test::TempFolder folder;
  const std::string model = test::tiny_chat_gguf().write(folder.path_of("m.gguf"));
  const auto result = inspect({"-m", model});
  EXPECT_EQ(result.status, 0);
  for (const char* part : {"llama.block_count", "blk.1.ffn_down.weight", "[64, 96]", "F32",
                           "260 tokens", "<|im_end|>", "for m in messages", "test-licence"}) {
    EXPECT_THAT(result.out, HasSubstr(part));
  }
  const json object = json::parse(inspect({"-m", model, "--json"}).out);
  EXPECT_EQ(object["metadata"]["llama.block_count"], 2);
  EXPECT_EQ(object["metadata"]["tokenizer.ggml.tokens"].size(), 260U);
  EXPECT_EQ(object["tensors"].size(), 21U);
}

// What cannot be run can be looked at.
TEST(InspectTest, AVocabularyOfAnUnknownKindHidesNothingElse) {
  const test::TempFolder folder;
  const std::string model = test::tiny_chat_gguf()
                                .remove("tokenizer.ggml.pre")
                                .set("tokenizer.ggml.pre", "nosuch")
                                .write(folder.path_of("m.gguf"));
  const auto result = inspect({"-m", model});
  EXPECT_EQ(result.status, 0) << result.err;
  for (const char* part : {"cannot be used", "nosuch", "for m in messages", "test-licence"}) {
    EXPECT_THAT(result.out, HasSubstr(part));
  }
}

TEST(InspectTest, KernelsShowTheTruth) {
  const json scalar = json::parse(inspect({"--kernels", "--json"}, {"FATHOM_ISA=scalar"}).out);
  EXPECT_EQ(scalar["isa"], "scalar");
  ASSERT_GT(scalar["entries"].size(), 20U);
  for (const json& entry : scalar["entries"]) {
    EXPECT_EQ(entry["set"], "scalar") << entry["entry"];
  }
  EXPECT_THAT(inspect({"--kernels"}).out, HasSubstr("in use"));
}

}  // namespace
}  // namespace fathom::app
