// Tests of weights/tensor_check: sizes by hand, overflow, overlaps.
#include "weights/tensor_check.h"

#include <gtest/gtest.h>

namespace fathom::weights {

namespace {

std::optional<int64_t> size(DType type, std::vector<int64_t> shape) {
  return size_of_tensor(type, shape).n_bytes;
}

TEST(TensorCheck, SizesFollowTheBlockFormats) {
  EXPECT_EQ(size(DType::kF32, {}), 4);
  EXPECT_EQ(size(DType::kF32, {3, 5}), 60);
  EXPECT_EQ(size(DType::kBF16, {2, 3, 5}), 60);
  EXPECT_EQ(size(DType::kQ4_0, {2, 64}), 2 * 2 * 18);
  EXPECT_EQ(size(DType::kQ6_K, {7, 512}), 7 * 2 * 210);
}

TEST(TensorCheck, ARowIsWholeBlocks) {
  const TensorSize size = size_of_tensor(DType::kQ4_K, std::vector<int64_t>{512, 128});
  EXPECT_FALSE(size.n_bytes) << "512 * 128 is a multiple of 256, but the rows are not";
  EXPECT_EQ(size.found, "rows of 128 values");
  EXPECT_EQ(size.allowed, "a multiple of 256, the block of Q4_K");
}

TEST(TensorCheck, ProductsDoNotWrap) {
  const int64_t big = int64_t{1} << 31;
  EXPECT_EQ(size(DType::kI8, {big, big}), int64_t{1} << 62);
  EXPECT_FALSE(size(DType::kI16, {big, big})) << "2^63 does not fit int64";
  EXPECT_FALSE(size(DType::kF32, {big, big})) << "2^64 wraps to 0 in 64 bits";
  EXPECT_FALSE(size(DType::kI8, {kMaxDim, kMaxDim, kMaxDim, kMaxDim}));
}

TEST(TensorCheck, OverlapsAreFoundAndTouchingIsNone) {
  std::vector<TensorRange> ranges = {{64, 128, 2, "b"}, {0, 64, 1, "a"}, {128, 130, 3, "c"}};
  EXPECT_EQ(find_overlap(ranges), std::nullopt);
  ranges.push_back({127, 128, 4, "d"});
  const auto at = find_overlap(ranges);
  ASSERT_TRUE(at.has_value());
  EXPECT_EQ(ranges[*at].name, "d");
}

}  // namespace

}  // namespace fathom::weights
