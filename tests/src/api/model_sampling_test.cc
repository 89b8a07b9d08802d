// What a publisher recommends, from both kinds of file.
#include "api/model_sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "support/error_check.h"

namespace fathom::api {
namespace {

using weights::Metadata;
using weights::Source;

TEST(ModelSampling, ReadsAGenerationConfig) {
  Metadata metadata(Source::kHuggingFace, "folder");
  metadata.set("generation.temperature", 0.6);
  metadata.set("generation.top_k", int64_t{20});
  metadata.set("generation.top_p", 0.95);
  metadata.set("generation.min_p", 0.0);
  metadata.set("generation.repetition_penalty", 1.05);
  const ModelSampling sampling = read_model_sampling(metadata);
  EXPECT_EQ(sampling.temperature, 0.6F);
  EXPECT_EQ(sampling.top_k, 20);
  EXPECT_EQ(sampling.top_p, 0.95F);
  EXPECT_EQ(sampling.min_p, 0.0F);
  EXPECT_EQ(sampling.repeat_penalty, 1.05F);
}

TEST(ModelSampling, ReadsTheKeysOfGguf) {
  Metadata metadata(Source::kGguf, "file.gguf");
  metadata.set("general.sampling.temp", 0.7);
  metadata.set("general.sampling.top_k", int64_t{64});
  metadata.set("generation.top_p", 0.5);  // no key of this kind of file
  const ModelSampling sampling = read_model_sampling(metadata);
  EXPECT_EQ(sampling.temperature, 0.7F);
  EXPECT_EQ(sampling.top_k, 64);
  EXPECT_FALSE(sampling.top_p);
}

TEST(ModelSampling, IsEmptyWhereTheFileIsSilent) {
  EXPECT_TRUE(read_model_sampling(Metadata(Source::kHuggingFace, "folder")).is_empty());
}

TEST(ModelSampling, TakesTheLikeliestTokenWhereSamplingIsOff) {
  Metadata metadata(Source::kHuggingFace, "folder");
  metadata.set("generation.do_sample", false);
  EXPECT_EQ(read_model_sampling(metadata).temperature, 0.0F);
  metadata.set("generation.temperature", 0.9);
  EXPECT_EQ(read_model_sampling(metadata).temperature, 0.9F);
}

TEST(ModelSampling, RefusesNumbersOutsideTheirRange) {
  const std::vector<std::pair<std::string, double>> cases = {{"top_p", 7.0},
                                                             {"top_k", 1e300},
                                                             {"top_k", -3e9},
                                                             {"top_k", std::nan("")},
                                                             {"temperature", std::nan("")}};
  for (const auto& [name, value] : cases) {
    Metadata metadata(Source::kHuggingFace, "folder/config.json");
    metadata.set("generation." + name, value);
    test::expect_error([&] { read_model_sampling(metadata); }, ErrorCode::kCorruptFile,
                       {"folder/config.json: key 'generation." + name + "' is "});
  }
}

}  // namespace
}  // namespace fathom::api
