// The plan against what the kernel counted, and refusals before anything is allocated.
// Read next: apps/fathom/plan.cc, xray/memory_plan.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "support/default_model.h"
#include "support/program.h"
#include "support/temp_folder.h"
#include "support/tiny_chat_model.h"

namespace fathom::app {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json plan_of(const std::string& model, std::vector<std::string> more) {
  std::vector<std::string> arguments = {"plan", "-m", model, "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const auto result = test::run_program(FATHOM_PROGRAM, {.arguments = arguments});
  EXPECT_EQ(result.status, 0) << result.err;
  return json::parse(result.out);
}

// |plan - measured| is at most 2 % or 8 MiB, whichever is larger.
void expect_within_the_rule(const json& plan, int64_t measured) {
  const int64_t planned = plan["total_bytes"];
  const int64_t allowed = std::max<int64_t>(planned / 50, int64_t{8} << 20);
  EXPECT_LE(std::abs(planned - measured), allowed)
      << "planned " << planned << ", measured " << measured << ": " << plan.dump();
}

TEST(PlanTest, LinesAddUp) {
  const test::TempFolder folder;
  const std::string model = test::tiny_chat_gguf().write(folder.path_of("m.gguf"));
  const json plan = plan_of(model, {"-c", "128"});
  // 2 layers x 2 KV heads x 16 x K and V x 2 B x 128 tokens
  EXPECT_EQ(plan["kv"], 2 * 2 * 16 * 2 * 2 * 128);
  int64_t sum = 0;
  for (const json& line : plan["lines"]) {
    sum += line["bytes"].get<int64_t>();
    EXPECT_FALSE(line["formula"].get<std::string>().empty());
  }
  EXPECT_EQ(plan["total_bytes"], sum);
  EXPECT_EQ(plan["context"], 128);
  EXPECT_EQ(plan_of(model, {"-c", "128", "--kv-type", "f32"})["kv"], 2 * 2 * 16 * 2 * 4 * 128);
  const auto text = test::run_program(FATHOM_PROGRAM, {.arguments = {"plan", "-m", model}});
  for (const char* part : {"weights", "kv", "scratch", "vocabulary", "program", "total", "limit"}) {
    EXPECT_THAT(text.out, HasSubstr(part));
  }
}

// As many as the server has room for: pages of 64 tokens, by those of one context.
TEST(PlanTest, JsonHasTheNumberOfSequences) {
  const test::TempFolder folder;
  const std::string model = test::tiny_chat_gguf().write(folder.path_of("m.gguf"));
  EXPECT_EQ(plan_of(model, {"-c", "128"})["sequences"], 1);
  EXPECT_EQ(plan_of(model, {"-c", "128", "--max-sequences", "5"})["sequences"], 5);
  EXPECT_EQ(plan_of(model, {"-c", "128", "--kv-memory", "100K"})["sequences"], 3);  // of 6 pages
  const auto text = test::run_program(
      FATHOM_PROGRAM, {.arguments = {"plan", "-m", model, "-c", "128", "--kv-memory", "100K"}});
  EXPECT_THAT(text.out, testing::ContainsRegex("sequences +3 "));
}

// A page: 2 layers x 2 KV heads x 16 x K and V x 2 B x 64 = 16,384 B.
TEST(PlanTest, TheCachesMemoryCanBeGiven) {
  const test::TempFolder folder;
  const std::string model = test::tiny_chat_gguf().write(folder.path_of("m.gguf"));
  EXPECT_EQ(plan_of(model, {"-c", "128", "--kv-memory", "100K"})["kv"], 6 * 16'384);
  EXPECT_EQ(plan_of(model, {"-c", "128", "--max-sequences", "3"})["kv"], 6 * 16'384);
  EXPECT_EQ(
      plan_of(model, {"-c", "128", "--max-sequences", "3", "--memory-utilization", "0.9"})["kv"],
      12 * 16'384);
  const auto text = test::run_program(
      FATHOM_PROGRAM, {.arguments = {"plan", "-m", model, "-c", "128", "--kv-memory", "100K"}});
  EXPECT_THAT(text.out, HasSubstr("sequences                 3"));
  const auto little = test::run_program(
      FATHOM_PROGRAM, {.arguments = {"plan", "-m", model, "-c", "128", "--kv-memory", "20000"}});
  EXPECT_EQ(little.status, 1);
  EXPECT_THAT(little.err, HasSubstr("1 pages of 0.02 MiB"));
  EXPECT_THAT(little.err, HasSubstr("-c 64"));
  for (const std::vector<std::string>& bad :
       {std::vector<std::string>{"--kv-memory", "much"},
        {"--kv-memory", "0"},
        {"--kv-memory", "5X"},
        {"--memory-utilization", "0"},
        {"--memory-utilization", "1.5"},
        {"--kv-memory", "1M", "--memory-utilization", "0.5"}}) {
    std::vector<std::string> arguments = {"plan", "-m", model};
    arguments.insert(arguments.end(), bad.begin(), bad.end());
    EXPECT_EQ(test::run_program(FATHOM_PROGRAM, {.arguments = arguments}).status, 2) << bad[1];
  }
}

// The scratch memory grows with the rows of a step: those of fathom serve where its flags are
// given.
TEST(PlanTest, CountsTheRowsOfAStep) {
  const test::TempFolder folder;
  const std::string model = test::tiny_chat_gguf().write(folder.path_of("m.gguf"));
  const auto scratch = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"-c", "1024"});
    return plan_of(model, std::move(more))["scratch"].get<int64_t>();
  };
  EXPECT_EQ(scratch({}), scratch({"--max-batched-tokens", "512"}));
  EXPECT_GT(scratch({}), scratch({"--max-batched-tokens", "128"}));
  for (std::vector<std::string> serve : {std::vector<std::string>{"--max-sequences", "4"},
                                         {"--kv-memory", "1M"},
                                         {"--memory-utilization", "0.5"}}) {
    std::vector<std::string> said = serve;
    said.insert(said.end(), {"--max-batched-tokens", "128"});
    EXPECT_EQ(scratch(serve), scratch(said)) << serve[0];
  }
}

class DefaultModelPlanTest : public test::DefaultModelFixture {};

TEST_F(DefaultModelPlanTest, KvBytesAreExact) {
  // 30 layers x 3 KV heads x 64 x K and V x 2 B = 23,040 B a token
  for (const int64_t context : {512, 2048, 8192}) {
    EXPECT_EQ(plan_of(model(), {"-c", std::to_string(context)})["kv"], 23040 * context);
  }
}

TEST_F(DefaultModelPlanTest, TheKernelCountsWhatThePlanSays) {
  for (const char* context : {"512", "2048", "8192"}) {
    for (const char* type : {"bf16", "f32"}) {
      const auto run = test::run_program(
          FATHOM_PROGRAM,
          {.arguments = {"run", "-m", model(), "-p", "Tell me a long story.", "-n", "8", "-c",
                         context, "--kv-type", type, "--temp", "0", "--json"}});
      ASSERT_EQ(run.status, 0) << run.err;
      const json object = json::parse(run.out);
      SCOPED_TRACE(std::string(context) + " " + type);
      expect_within_the_rule(object["plan"], run.peak_resident_bytes);
      expect_within_the_rule(plan_of(model(), {"-c", context, "--kv-type", type}),
                             run.peak_resident_bytes);
    }
  }
}

TEST_F(DefaultModelPlanTest, TooLittleMemoryIsRefusedWithTheSum) {
  const auto refused = test::run_program(
      FATHOM_PROGRAM, {.arguments = {"run", "-m", model(), "-p", "x", "-c", "8192", "-t", "1"},
                       .address_space_bytes = int64_t{360} << 20});
  EXPECT_EQ(refused.status, 1);
  for (const char* part : {"kv 180.0", "weights", "largest context that fits is -c "}) {
    EXPECT_THAT(refused.err, HasSubstr(part));
  }
  const size_t at = refused.err.find("is -c ");
  ASSERT_NE(at, std::string::npos);
  const std::string largest = std::to_string(std::atoi(refused.err.c_str() + at + 6));
  const auto fits = test::run_program(
      FATHOM_PROGRAM,
      {.arguments = {"run", "-m", model(), "-p", "x", "-n", "2", "-c", largest, "-t", "1"},
       .address_space_bytes = int64_t{360} << 20});
  EXPECT_EQ(fits.status, 0) << largest << fits.err;
}

}  // namespace
}  // namespace fathom::app
