// Pages by hand: where an element lies in each type, and what int8 codes and scales are.
// Read next: base/paged_view.h.
#include "kernels/scalar/pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/half.h"
#include "kernels/dispatch.h"

namespace fathom::kernels {
namespace {

constexpr auto kInt8 = static_cast<size_t>(PageType::kInt8);

TEST(Pages, PlacesOfFloats) {
  std::vector<uint16_t> page(64 * 4);
  const float x[3] = {1.0F, 2.0F, 3.0F};  // an odd head_dim takes room for 4
  auto* bytes = reinterpret_cast<std::byte*>(page.data());
  scalar_table().write_k[static_cast<int>(PageType::kBF16)](x, 3, 17, bytes);
  // K: [4 tiles][2 pairs][16 tokens][2]: slot 17 is token 1 of tile 1.
  EXPECT_EQ(page[((1 * 2 + 0) * 16 + 1) * 2 + 1], f32_to_bf16(2.0F));
  EXPECT_EQ(page[((1 * 2 + 1) * 16 + 1) * 2 + 0], f32_to_bf16(3.0F));
  std::fill(page.begin(), page.end(), uint16_t{0});
  scalar_table().write_v[static_cast<int>(PageType::kBF16)](x, 3, 17, bytes);
  // V: [32 pairs of tokens][4][2]: slot 17 is the second of pair 8.
  EXPECT_EQ(page[(8 * 4 + 2) * 2 + 1], f32_to_bf16(3.0F));
  std::vector<float> wide(64 * 3);
  auto* wide_bytes = reinterpret_cast<std::byte*>(wide.data());
  scalar_table().write_k[static_cast<int>(PageType::kF32)](x, 3, 17, wide_bytes);
  EXPECT_EQ(wide[(1 * 3 + 2) * 16 + 1], 3.0F);
  scalar_table().write_v[static_cast<int>(PageType::kF32)](x, 3, 17, wide_bytes);
  EXPECT_EQ(wide[17 * 3 + 1], 2.0F);
}

// One head of 6 dims, two of them beyond the first quad; the room is 8.
struct Int8Page {
  Int8Page() : bytes(static_cast<size_t>(page_half_bytes(PageType::kInt8, 6)), std::byte{0x5A}) {}

  [[nodiscard]] int code(size_t at) const { return static_cast<int8_t>(bytes[at]); }

  [[nodiscard]] float scale(size_t slot) const {
    float value = 0.0F;
    std::memcpy(&value, bytes.data() + 64 * 8 + slot * 4, sizeof value);
    return value;
  }

  std::vector<std::byte> bytes;
};

TEST(Pages, Int8KeysByHand) {
  ASSERT_EQ(page_half_bytes(PageType::kInt8, 6), 64 * 8 + 64 * 4);
  Int8Page page;
  const float x[6] = {1.0F, -2.0F, 3.5F, 0.0F, -3.5F, 0.01F};
  scalar_table().write_k[kInt8](x, 6, 17, page.bytes.data());
  // 127 / 3.5 = 36.29: 1 becomes 36, -2 becomes -73 (72.57), 0.01 becomes 0 (0.36).
  // K: [4 tiles][2 quads][16 tokens][4]: slot 17 is token 1 of tile 1.
  const size_t first = (1 * 2 * 16 + 1) * 4;
  const size_t second = ((1 * 2 + 1) * 16 + 1) * 4;
  EXPECT_EQ(page.code(first), 36);
  EXPECT_EQ(page.code(first + 1), -73);
  EXPECT_EQ(page.code(first + 2), 127);
  EXPECT_EQ(page.code(first + 3), 0);
  EXPECT_EQ(page.code(second), -127);
  EXPECT_EQ(page.code(second + 1), 0);
  EXPECT_EQ(page.code(second + 2), 0);  // the room beyond the last dim
  EXPECT_EQ(page.code(second + 3), 0);
  EXPECT_EQ(page.scale(17), 3.5F / 127.0F);
  EXPECT_EQ(page.code(first + 4), 0x5A);  // the next token's
}

TEST(Pages, Int8ValuesByHand) {
  Int8Page page;
  const float x[6] = {0.0F, 0.0F, 254.0F, 1.0F, 3.0F, -254.0F};
  scalar_table().write_v[kInt8](x, 6, 22, page.bytes.data());
  // V: [16 quads of tokens][8][4]: slot 22 is the third of quad 5. Halves go to the even code.
  const auto at = [](size_t d) { return (5 * 8 + d) * 4 + 2; };
  EXPECT_EQ(page.code(at(2)), 127);
  EXPECT_EQ(page.code(at(3)), 0);
  EXPECT_EQ(page.code(at(4)), 2);
  EXPECT_EQ(page.code(at(5)), -127);
  EXPECT_EQ(page.scale(22), 2.0F);
}

TEST(Pages, Int8OfZeroTinyAndNotFinite) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const float odd : {0.0F, 0x1p-101F, -0x1p-149F, inf, -inf, std::nanf("")}) {
    Int8Page page;
    const float x[6] = {0.0F, odd, 0.0F, -0.0F, 0.0F, 0.0F};
    scalar_table().write_k[kInt8](x, 6, 0, page.bytes.data());
    EXPECT_EQ(page.code(1), 0);
    EXPECT_EQ(std::isnan(page.scale(0)), !std::isfinite(odd)) << odd;
    EXPECT_TRUE(!std::isfinite(odd) || page.scale(0) == 0.0F) << odd;
  }
  Int8Page page;
  const float x[6] = {0x1p-100F, 0.0F, 0.0F, 0.0F, 0.0F, 0.0F};
  scalar_table().write_k[kInt8](x, 6, 0, page.bytes.data());
  EXPECT_EQ(page.code(0), 127);
  EXPECT_EQ(page.scale(0), 0x1p-100F / 127.0F);
}

}  // namespace
}  // namespace fathom::kernels
