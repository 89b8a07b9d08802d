// The table of fields itself. Read next: api/openai/fields.h.
#include "api/openai/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace fathom::api::openai {
namespace {

TEST(FieldsTest, EveryNameStandsOnceOnEachRoute) {
  const auto all = fields();
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_NE(all[i].routes, 0) << all[i].name;
    EXPECT_FALSE(all[i].says.empty()) << all[i].name;
    for (size_t j = i + 1; j < all.size(); ++j) {
      EXPECT_FALSE(all[i].name == all[j].name && (all[i].routes & all[j].routes) != 0)
          << all[i].name;
    }
  }
}

TEST(FieldsTest, FieldsAreFoundOnTheirRoutesOnly) {
  ASSERT_NE(find_field("echo", kCompletions), nullptr);
  EXPECT_EQ(find_field("echo", kChat), nullptr);
  EXPECT_EQ(find_field("nosuch", kChat), nullptr);
  EXPECT_EQ(find_field("max_tokens", kChat)->otherwise, "until the context is full");
  EXPECT_EQ(find_field("max_tokens", kCompletions)->otherwise, "16");
}

TEST(FieldsTest, TheOneAllowedValueIsJson) {
  for (const Field& field : fields()) {
    if (field.use == FieldUse::kOnly) {
      EXPECT_FALSE(nlohmann::json::parse(field.otherwise, nullptr, false).is_discarded())
          << field.name;
    }
  }
}

TEST(FieldsTest, TypesAreToldWithTheirRanges) {
  EXPECT_EQ(describe_type(*find_field("stream", kChat)), "true or false");
  EXPECT_EQ(describe_type(*find_field("temperature", kChat)), "a number from 0 to 100");
  EXPECT_EQ(describe_type(*find_field("n", kChat)), "a whole number from 1 to 128");
  EXPECT_EQ(describe_type(*find_field("seed", kChat)), "a whole number from -2^63 to 2^63 - 1");
  EXPECT_THAT(describe_type(*find_field("stop", kChat)), testing::HasSubstr("up to 64"));
  EXPECT_THAT(describe_type(*find_field("allowed_token_ids", kChat)),
              testing::HasSubstr("at least one"));
}

TEST(FieldsTest, RoutesHavePaths) {
  EXPECT_EQ(path_of(kChat), "/v1/chat/completions");
  EXPECT_EQ(path_of(kTemplate), "/apply-template");
}

}  // namespace
}  // namespace fathom::api::openai
