// Tests of weights/gguf_types: the numbers of the format, as ggml's header lists them.
#include "weights/gguf_types.h"

#include <gtest/gtest.h>

#include "quant/formats.h"

namespace fathom::weights {

namespace {

TEST(GgufTypes, UnreadTypesHaveTheirPublishedNames) {
  EXPECT_EQ(unread_ggml_type(16), "IQ2_XXS");
  EXPECT_EQ(unread_ggml_type(29), "IQ1_M");
  EXPECT_EQ(unread_ggml_type(34), "TQ1_0");
  EXPECT_EQ(unread_ggml_type(40), "NVFP4");
  EXPECT_EQ(unread_ggml_type(255), "");
}

TEST(GgufTypes, EveryNumberIsReadOrRefusedByNameButNeverBoth) {
  for (uint32_t number = 0; number <= 41; ++number) {
    const bool read = quant::find_ggml_type(number).has_value();
    EXPECT_NE(read, !unread_ggml_type(number).empty()) << number;
  }
}

TEST(GgufTypes, ValueTypesHaveNamesAndSizes) {
  EXPECT_EQ(name_of(GgufValueType::kU8), "UINT8");
  EXPECT_EQ(name_of(GgufValueType::kF64), "FLOAT64");
  EXPECT_EQ(min_bytes(GgufValueType::kBool), 1U);
  EXPECT_EQ(min_bytes(GgufValueType::kString), 8U);
  EXPECT_EQ(min_bytes(GgufValueType::kI64), 8U);
}

}  // namespace

}  // namespace fathom::weights
