// Tests of base/tensor: the matrix view of shapes of every rank.
#include "base/tensor.h"

#include <gtest/gtest.h>

namespace fathom {

namespace {

FileTensor with_shape(std::vector<int64_t> shape) {
  FileTensor tensor;
  tensor.name = "w";
  tensor.shape = std::move(shape);
  return tensor;
}

TEST(FileTensor, CountsRowsColumnsAndElements) {
  const FileTensor scalar = with_shape({});
  EXPECT_EQ(scalar.n_elements(), 1);
  EXPECT_EQ(scalar.n_rows(), 1);
  EXPECT_EQ(scalar.n_cols(), 1);
  const FileTensor vector = with_shape({7});
  EXPECT_EQ(vector.n_elements(), 7);
  EXPECT_EQ(vector.n_rows(), 1);
  EXPECT_EQ(vector.n_cols(), 7);
  const FileTensor cube = with_shape({2, 3, 5});
  EXPECT_EQ(cube.n_elements(), 30);
  EXPECT_EQ(cube.n_rows(), 6);
  EXPECT_EQ(cube.n_cols(), 5);
}

TEST(FileTensor, CountsBeyondThirtyTwoBits) {
  EXPECT_EQ(with_shape({262144, 65536}).n_elements(), int64_t{1} << 34);
}

TEST(FileTensor, ShapesPrintOuterFirst) {
  EXPECT_EQ(format_shape(std::vector<int64_t>{32, 576}), "[32, 576]");
  EXPECT_EQ(format_shape({}), "[]");
}

}  // namespace

}  // namespace fathom
