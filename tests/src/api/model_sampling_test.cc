// What a publisher recommends, from both kinds of file.
#include "api/model_sampling.h"

#include <gtest/gtest.h>

#include "base/error.h"

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
  Metadata metadata(Source::kHuggingFace, "folder/config.json");
  metadata.set("generation.top_p", 7.0);
  try {
    read_model_sampling(metadata);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCorruptFile);
    EXPECT_NE(std::string(error.what()).find("generation.top_p"), std::string::npos);
  }
}

}  // namespace
}  // namespace fathom::api
