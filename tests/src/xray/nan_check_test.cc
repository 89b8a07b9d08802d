// The first bad value and no other. Read next: xray/nan_check.h.
#include "xray/nan_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace fathom::xray {
namespace {

void offer(NanCheck& check, int layer, std::string_view name, std::vector<int64_t> shape,
           const std::vector<float>& values) {
  check.on_tensor({.layer = layer, .name = name, .shape = shape, .values = values});
}

TEST(NanCheckTest, FiniteValuesAreFine) {
  NanCheck check;
  offer(check, 0, "q", {2, 2}, {1.0F, -3e38F, 0.0F, 1e-45F});
  EXPECT_FALSE(check.first());
}

TEST(NanCheckTest, FirstBadValueStays) {
  NanCheck check;
  offer(check, 0, "q", {2, 3}, {0, 0, 0, 0, 0, 0});
  offer(check, 1, "ffn_out", {2, 3}, {0, 0, 0, 0, std::numeric_limits<float>::quiet_NaN(), 0});
  offer(check, 1, "residual", {1}, {std::numeric_limits<float>::infinity()});
  ASSERT_TRUE(check.first());
  EXPECT_EQ(check.first()->layer, 1);
  EXPECT_EQ(check.first()->tensor, "ffn_out");
  EXPECT_EQ(check.first()->row, 1);
  EXPECT_EQ(check.first()->column, 1);
  EXPECT_TRUE(std::isnan(check.first()->value));
}

TEST(NanCheckTest, InfinityIsBadAndHeadsAreColumns) {
  NanCheck check;
  offer(check, 2, "q", {2, 2, 2}, {0, 0, 0, 0, 0, 0, 0, -std::numeric_limits<float>::infinity()});
  ASSERT_TRUE(check.first());
  EXPECT_EQ(check.first()->row, 1);
  EXPECT_EQ(check.first()->column, 3);
}

}  // namespace
}  // namespace fathom::xray
