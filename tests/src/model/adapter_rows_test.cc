// Rows of adapters: zeros behind their own, heads of halves as pairs, and sums with weights.
#include "model/adapter_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace fathom::model {
namespace {

// A tensor over values of the test.
FileTensor tensor_of(const std::vector<float>& values, int64_t n_rows, int64_t n_cols) {
  FileTensor tensor;
  tensor.type = DType::kF32;
  tensor.shape = {n_rows, n_cols};
  tensor.bytes = std::as_bytes(std::span(values));
  return tensor;
}

std::vector<float> rows_of(const RowReader& reader, int64_t first, int64_t n, int64_t n_cols) {
  std::vector<float> rows(static_cast<size_t>(n * n_cols), -7.0F);
  reader.read_rows(first, n, reinterpret_cast<std::byte*>(rows.data()));
  return rows;
}

TEST(PaddedRowsTest, ZerosStandBehindTheTensorsOwn) {
  const std::vector<float> values = {1, 2, 3, 4};
  const FileTensor tensor = tensor_of(values, 2, 2);
  const PaddedRows rows(tensor, 3, 0);
  EXPECT_THAT(rows_of(rows, 0, 4, 3), testing::ElementsAre(1, 2, 0, 3, 4, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(rows_of(rows, 1, 2, 3), testing::ElementsAre(3, 4, 0, 0, 0, 0));
}

TEST(PaddedRowsTest, HalvesBecomePairs) {
  // Two heads of four rows: 0 1 | 2 3 becomes 0 2 1 3.
  const std::vector<float> values = {0, 1, 2, 3, 10, 11, 12, 13};
  const FileTensor tensor = tensor_of(values, 8, 1);
  const PaddedRows rows(tensor, 1, 4);
  EXPECT_THAT(rows_of(rows, 0, 8, 1), testing::ElementsAre(0, 2, 1, 3, 10, 12, 11, 13));
  EXPECT_THAT(rows_of(rows, 5, 2, 1), testing::ElementsAre(12, 11));
}

TEST(MergedRowsTest, AddsEveryTermToItsRows) {
  // W is the middle of a fused tensor; b's rows lie as W's do.
  const std::vector<float> w = {9, 9, 1, 2, 3, 4, 9, 9};
  const std::vector<float> a = {1, 0, 0, 1};
  const std::vector<float> b = {8, 8, 1, 2, 3, 4, 8, 8};
  const FileTensor w_tensor = tensor_of(w, 4, 2);
  const FileTensor a_tensor = tensor_of(a, 2, 2);
  const FileTensor b_tensor = tensor_of(b, 4, 2);
  const MatrixView weight = {&w_tensor, 2, 2, 1};
  const LoraTerm term = {{&a_tensor, 2, 2}, {&b_tensor, 2, 2, 1}, 0.5F};
  const MergedRows once(weight, {term});
  EXPECT_THAT(rows_of(once, 0, 2, 2), testing::ElementsAre(1.5, 3, 4.5, 6));
  const MergedRows twice(weight, {term, term});
  EXPECT_THAT(rows_of(twice, 1, 1, 2), testing::ElementsAre(6, 8));
}

TEST(MergedRowsTest, TransposedWeightsGiveTheirColumns) {
  const std::vector<float> w = {1, 2, 3, 4, 5, 6};  // [in 2, out 3]
  const std::vector<float> a = {1, 10};
  const std::vector<float> b = {1, 2, 3};
  const FileTensor w_tensor = tensor_of(w, 2, 3);
  const FileTensor a_tensor = tensor_of(a, 1, 2);
  const FileTensor b_tensor = tensor_of(b, 3, 1);
  MatrixView weight = {&w_tensor, 3, 2};
  weight.transposed = true;
  const MergedRows rows(weight, {{{&a_tensor, 1, 2}, {&b_tensor, 3, 1}, 1.0F}});
  EXPECT_THAT(rows_of(rows, 0, 3, 2), testing::ElementsAre(2, 14, 4, 25, 6, 36));
}

}  // namespace
}  // namespace fathom::model
