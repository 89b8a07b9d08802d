// Tests of base/dtype: the names that ggml and safetensors use.
#include "base/dtype.h"

#include <gtest/gtest.h>

#include <set>

namespace fathom {

namespace {

TEST(DType, NamesAreThePublishedOnes) {
  EXPECT_EQ(name_of(DType::kF32), "F32");
  EXPECT_EQ(name_of(DType::kBF16), "BF16");
  EXPECT_EQ(name_of(DType::kQ4_1), "Q4_1");
  EXPECT_EQ(name_of(DType::kQ8_0), "Q8_0");
  EXPECT_EQ(name_of(DType::kQ6_K), "Q6_K");
  EXPECT_EQ(name_of(DType::kIQ4_XS), "IQ4_XS");
  EXPECT_EQ(name_of(DType::kI8), "I8");
  EXPECT_EQ(name_of(DType::kF64), "F64");
}

TEST(DType, NamesDiffer) {
  std::set<std::string_view> names;
  for (int i = 0; i < kNumDTypes; ++i) {
    names.insert(name_of(static_cast<DType>(i)));
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(kNumDTypes));
}

}  // namespace

}  // namespace fathom
