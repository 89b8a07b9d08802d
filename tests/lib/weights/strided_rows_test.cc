// Tests of weights/strided_rows: transposed, sliced and padded views against their definition.
#include "weights/strided_rows.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

namespace fathom::weights {

namespace {

using Sizes = std::vector<int64_t>;

std::vector<int16_t> storage_of(size_t count) {
  std::vector<int16_t> values(count);
  std::iota(values.begin(), values.end(), int16_t{0});
  return values;
}

std::vector<int16_t> read(const StridedRows& rows, int64_t first, int64_t n_rows, int64_t n_cols) {
  std::vector<int16_t> out(static_cast<size_t>(n_rows * n_cols));
  rows.read_rows(first, n_rows, std::as_writable_bytes(std::span(out)).data());
  return out;
}

TEST(StridedRows, ATransposedMatrix) {
  const auto storage = storage_of(6);
  const StridedRows rows({std::as_bytes(std::span(storage)), 2, 0, {3, 2}, {1, 3}});
  EXPECT_EQ(read(rows, 0, 3, 2), (std::vector<int16_t>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(read(rows, 1, 1, 2), (std::vector<int16_t>{1, 4}));
  EXPECT_EQ(rows.file_bytes(), 12U);
}

TEST(StridedRows, ASliceOfThreeDimensions) {
  const auto storage = storage_of(60);
  // storage.reshape(3, 4, 5)[1:, ::2, 1:4]
  const StridedRows rows({std::as_bytes(std::span(storage)), 2, 21, {2, 2, 3}, {20, 10, 1}});
  EXPECT_EQ(read(rows, 0, 4, 3),
            (std::vector<int16_t>{21, 22, 23, 31, 32, 33, 41, 42, 43, 51, 52, 53}));
  EXPECT_EQ(read(rows, 3, 1, 3), (std::vector<int16_t>{51, 52, 53}));
  EXPECT_EQ(rows.file_bytes(), 66U);
}

TEST(StridedRows, VectorsAndScalars) {
  const auto storage = storage_of(9);
  const StridedRows every_second({std::as_bytes(std::span(storage)), 2, 1, {4}, {2}});
  EXPECT_EQ(read(every_second, 0, 1, 4), (std::vector<int16_t>{1, 3, 5, 7}));
  const StridedRows one({std::as_bytes(std::span(storage)), 2, 8, {}, {}});
  EXPECT_EQ(read(one, 0, 1, 1), (std::vector<int16_t>{8}));
}

TEST(StridedRows, WhatIsInOrder) {
  const auto in_order = [](const Sizes& shape, const Sizes& strides) {
    return is_contiguous(shape, strides);
  };
  EXPECT_TRUE(in_order({}, {}));
  EXPECT_TRUE(in_order({2, 3}, {3, 1}));
  EXPECT_TRUE(in_order({2, 1, 3}, {3, 77, 1}));  // a stride of one step never counts
  EXPECT_FALSE(in_order({3, 2}, {1, 3}));
  EXPECT_FALSE(in_order({2, 3}, {4, 1}));
  EXPECT_FALSE(in_order({2, 3}, {0, 1}));
  EXPECT_FALSE(in_order({3}, {2}));
}

}  // namespace

}  // namespace fathom::weights
