// fathom bench from outside: its form, never its speed. Read next: apps/fathom/bench.cc.
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

TEST(BenchTest, JsonAndTextHaveBothPhasesAndBothLimits) {
  const test::TempFolder folder;
  const std::string model = test::tiny_chat_gguf().write(folder.path_of("m.gguf"));
  const std::vector<std::string> base = {"bench", "-m", model, "-p", "20", "-n",
                                         "6",     "-t", "2",   "-r", "2"};
  auto arguments = base;
  arguments.emplace_back("--json");
  const auto result = test::run_program(FATHOM_PROGRAM, {.arguments = arguments});
  ASSERT_EQ(result.status, 0) << result.err;
  const json object = json::parse(result.out);
  EXPECT_EQ(object["threads"], 2);
  for (const std::string phase : {"prefill", "decode"}) {
    EXPECT_GT(object[phase + "_tok_s"]["mean"], 0.0);
    EXPECT_GE(object[phase + "_tok_s"]["stdev"], 0.0);
    EXPECT_EQ(object[phase + "_tok_s"]["samples"].size(), 2U);
    EXPECT_GT(object[phase + "_limits"]["of_bandwidth"], 0.0);
    EXPECT_GT(object[phase + "_limits"]["of_peak_ops"], 0.0);
  }
  EXPECT_GT(object["bandwidth"]["bytes_per_s"], 1e8);
  EXPECT_THAT((std::vector<int>{1, 2, 4, 8}), testing::Contains(object["bandwidth"]["streams"]));
  EXPECT_GT(object["peak_ops_per_s"], 1e8);
  EXPECT_LT(object["peak_ops_per_s"], 1e15);  // a loop that was optimized away
  EXPECT_EQ(object.contains("fed_tile_ops_per_s"), object["isa"] == "amx");
  const auto text = test::run_program(FATHOM_PROGRAM, {.arguments = base});
  for (const char* part : {"prefill", "decode", "tok/s", "GB/s", "GOP/s", "+-"}) {
    EXPECT_THAT(text.out, HasSubstr(part));
  }
}

TEST(BenchTest, SeveralSequencesAtADepth) {
  const test::TempFolder folder;
  const std::string model = test::tiny_chat_gguf().write(folder.path_of("m.gguf"));
  std::vector<std::string> arguments = {
      "bench", "-m",          model, "-p",      "20", "-n",     "5",         "-r",
      "1",     "--sequences", "3",   "--depth", "40", "--json", "--kv-type", "int8"};
  const auto result = test::run_program(FATHOM_PROGRAM, {.arguments = arguments});
  ASSERT_EQ(result.status, 0) << result.err;
  const json object = json::parse(result.out);
  EXPECT_EQ(object["n_sequences"], 3);
  EXPECT_EQ(object["depth"], 40);
  EXPECT_GT(object["depth_tok_s"]["mean"], 0.0);
  EXPECT_GT(object["decode_tok_s"]["mean"], 0.0);
  arguments.emplace_back("--ops");
  const auto refused = test::run_program(FATHOM_PROGRAM, {.arguments = arguments});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("--sequences"));
}

TEST(BenchTest, OperationsAddUpToTheStep) {
  const test::TempFolder folder;
  const std::string model = test::tiny_chat_gguf().write(folder.path_of("m.gguf"));
  std::vector<std::string> arguments = {"bench", "-m", model, "--ops", "-p", "20",
                                        "-n",    "6",  "-t",  "1",     "-r", "1"};
  const auto text = test::run_program(FATHOM_PROGRAM, {.arguments = arguments});
  ASSERT_EQ(text.status, 0) << text.err;
  for (const char* part : {"prefill of 20 tokens", "decode, 6 tokens", "attend", "logits",
                           "sampling", "between operations", "of limit"}) {
    EXPECT_THAT(text.out, HasSubstr(part));
  }
  arguments.emplace_back("--json");
  const json object = json::parse(test::run_program(FATHOM_PROGRAM, {.arguments = arguments}).out);
  for (const char* phase : {"prefill", "decode"}) {
    double sum =
        object[phase]["sampling_s"].get<double>() + object[phase]["between_s"].get<double>();
    for (const json& line : object[phase]["operations"]) {
      sum += line["seconds"].get<double>();
    }
    EXPECT_NEAR(sum, object[phase]["seconds_per_step"], 1e-12);
    EXPECT_GE(object[phase]["between_s"], 0.0);
  }
  EXPECT_EQ(object["decode"]["steps"], 6);
  EXPECT_GT(object["float_ops_per_s"], 1e8);
}

}  // namespace
}  // namespace fathom::app
