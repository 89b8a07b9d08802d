// The replay on a tiny model: all ways are equal, do what their names say, and a difference would
// be seen. Read next: src/api/verify.cc.
#include "api/verify.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "support/temp_folder.h"
#include "support/tiny_chat_model.h"

namespace fathom::api {
namespace {

VerifyOptions tiny_options(const test::TempFolder& folder, uint32_t seed = 1) {
  test::TinySizes sizes;
  sizes.seed = seed;
  sizes.weight_type = DType::kQ8_0;
  VerifyOptions options;
  options.session.model_path =
      test::tiny_chat_gguf(sizes).write(folder.path_of(std::to_string(seed) + ".gguf"));
  options.session.context = 400;
  options.session.n_threads = 1;
  options.max_tokens = 6;
  return options;
}

TEST(Verify, EveryWayGivesTheSameBits) {
  const test::TempFolder folder;
  std::set<std::string> seen;
  VerifyOptions options = tiny_options(folder);
  options.on_way = [&](const std::string& way) { seen.insert(way); };
  const VerifyReport report = verify(options);
  EXPECT_TRUE(report.is_equal());
  EXPECT_EQ(report.n_prompts, 7);
  EXPECT_EQ(report.n_tokens, 7 * 6);
  std::map<std::string, VerifyWay> ways;
  for (const VerifyWay& way : report.ways) {
    EXPECT_EQ(way.n_equal, 7) << way.name << ": " << way.first_difference;
    EXPECT_EQ(way.n_different, 0);
    ways[way.name] = way;
  }
  EXPECT_EQ(seen.size(), report.ways.size() + 1);
  // They did what they are for.
  EXPECT_GE(ways.at("pre-emptions").n_preemptions, 2);
  EXPECT_EQ(ways.at("all in one batch").n_preemptions, 0);
  EXPECT_GT(ways.at("cached beginnings").cached_tokens, 300);
  EXPECT_EQ(ways.at("all in one batch").cached_tokens, 0);
  EXPECT_TRUE(ways.contains("2 threads"));
  EXPECT_TRUE(report.isa == "scalar" || ways.contains("scalar"));
}

// Prompts in int8 per 256: other bits than exact, and the same ones in every way all the same.
TEST(Verify, FastPromptsGiveTheSameBitsInEveryWay) {
  const test::TempFolder folder;
  VerifyOptions options = tiny_options(folder);
  const uint64_t exact = verify(options).bits;
  options.session.fast_prompts = true;
  const VerifyReport report = verify(options);
  for (const VerifyWay& way : report.ways) {
    EXPECT_EQ(way.n_equal, 7) << way.name << ": " << way.first_difference;
  }
  EXPECT_TRUE(report.is_equal());
  EXPECT_NE(report.bits, exact);
}

TEST(Verify, TheHashNamesTheBits) {
  const test::TempFolder folder;
  VerifyOptions options = tiny_options(folder);
  options.prompts = {{1, 2, 3}};
  const uint64_t bits = verify(options).bits;
  EXPECT_EQ(verify(options).bits, bits);
  options.prompts = {{1, 2, 4}};
  EXPECT_NE(verify(options).bits, bits);
}

TEST(Verify, PromptsFitTheContextAndShareABeginning) {
  const auto prompts = verify_prompts(100, 400, 20);
  ASSERT_EQ(prompts.size(), 7U);
  EXPECT_EQ(std::vector<int32_t>(prompts[4].begin(), prompts[4].begin() + 128),
            std::vector<int32_t>(prompts[6].begin(), prompts[6].begin() + 128));
  EXPECT_NE(prompts[4][145], prompts[5][145]);
  for (const auto& prompt : verify_prompts(100, 64, 20)) {
    EXPECT_LE(prompt.size(), 44U);
    EXPECT_GE(prompt.size(), 1U);
  }
}

TEST(Verify, AnyDifferenceCounts) {
  VerifyReport report;
  report.ways.resize(3);
  EXPECT_TRUE(report.is_equal());
  report.ways[1].n_different = 1;
  EXPECT_FALSE(report.is_equal());
}

}  // namespace
}  // namespace fathom::api
