// Page sizes: the exact figures of the 135M default model, and odd head sizes.
#include "kv/layout.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace fathom::kv {
namespace {

// SmolLM2-135M: 30 layers, 3 KV heads, head_dim 64: 11,520 values a token, 23,040 bytes in bf16.
constexpr PageShape kSmol = {PageType::kBF16, 30, 3, 64, 64};

TEST(Layout, DefaultModelIsExact) {
  EXPECT_EQ(pool_bytes(kSmol, pages_for(512)), 11796480);
  EXPECT_EQ(pool_bytes(kSmol, pages_for(2048)), 47185920);
  EXPECT_EQ(pool_bytes(kSmol, pages_for(8192)), 188743680);
}

TEST(Layout, F32PagesAreTwiceAsLarge) {
  PageShape shape = kSmol;
  shape.type = PageType::kF32;
  EXPECT_EQ(pool_bytes(shape, 8), 2 * pool_bytes(kSmol, 8));
}

TEST(Layout, OddHeadDimIsPaddedInBf16Only) {
  EXPECT_EQ(key_bytes({PageType::kBF16, 1, 1, 5, 3}), 64 * 6 * 2);
  EXPECT_EQ(value_bytes({PageType::kBF16, 1, 1, 5, 3}), 64 * 4 * 2);
  EXPECT_EQ(key_bytes({PageType::kF32, 1, 1, 5, 3}), 64 * 5 * 4);
  EXPECT_EQ(value_bytes({PageType::kF32, 1, 1, 5, 3}), 64 * 3 * 4);
}

// Cached latents: one head of 512 values that also serve as 512 of 576 key elements.
TEST(Layout, ValuesMayBeNarrowerThanKeys) {
  constexpr PageShape kLatents = {PageType::kBF16, 27, 1, 576, 512};
  EXPECT_EQ(page_layer_bytes(kLatents), 64 * 2 * (576 + 512));
  EXPECT_EQ(pool_bytes(kLatents, 3), int64_t{27} * 3 * 64 * 2 * 1088);
}

// 64 codes and a scale of four bytes for each of K and V of a token.
TEST(Layout, Int8PagesHoldCodesAndScales) {
  EXPECT_EQ(key_bytes({PageType::kInt8, 1, 1, 64, 64}), 64 * (64 + 4));
  EXPECT_EQ(key_bytes({PageType::kInt8, 1, 1, 5, 3}), 64 * (8 + 4));
  EXPECT_EQ(value_bytes({PageType::kInt8, 1, 1, 5, 3}), 64 * (4 + 4));
}

TEST(Layout, PagesForRoundsUp) {
  EXPECT_EQ(pages_for(0), 0);
  EXPECT_EQ(pages_for(1), 1);
  EXPECT_EQ(pages_for(64), 1);
  EXPECT_EQ(pages_for(65), 2);
}

TEST(Layout, TypeNames) {
  EXPECT_EQ(parse_page_type("bf16"), PageType::kBF16);
  EXPECT_EQ(parse_page_type("f32"), PageType::kF32);
  for (const char* name : {"int8", "q8", "q8_0"}) {
    EXPECT_EQ(parse_page_type(name), PageType::kInt8);
  }
  EXPECT_EQ(name_of(PageType::kInt8), "int8");
  try {
    parse_page_type("q4_0");
    FAIL() << "there are no 4-bit pages";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_NE(std::string(error.what()).find("bf16, f32, int8"), std::string::npos);
  }
}

}  // namespace
}  // namespace fathom::kv
