// Where the rows of a view lie in the file, and what reading them gives: whole rows, parts of fused
// tensors, transposed storage, rows that a reader computes, columns in another order.
#include "model/matrix_view.h"

#include <gtest/gtest.h>

#include <random>

#include "quant/formats.h"
#include "quant/pack.h"
#include "support/model_rig.h"

namespace fathom::model {
namespace {

// A tensor and the bytes that it views.
struct Stored {
  std::vector<std::byte> bytes;
  FileTensor tensor;
};

// Element (r, c) is 100 r + c.
Stored numbered(int64_t n_rows, int64_t n_cols) {
  Stored stored;
  stored.bytes.resize(static_cast<size_t>(n_rows * n_cols) * sizeof(float));
  for (int64_t i = 0; i < n_rows * n_cols; ++i) {
    const auto value = static_cast<float>(100 * (i / n_cols) + i % n_cols);
    std::memcpy(stored.bytes.data() + i * 4, &value, 4);
  }
  stored.tensor = {"numbered", DType::kF32, {n_rows, n_cols}, stored.bytes, nullptr, nullptr};
  return stored;
}

// The rows of `numbered` as a checkpoint would compute them; counts calls.
class NumberedReader final : public RowReader {
 public:
  explicit NumberedReader(int64_t n_cols) : n_cols_(n_cols) {}

  void read_rows(int64_t first, int64_t n_rows, std::byte* out) const override {
    ++n_calls;
    for (int64_t i = 0; i < n_rows * n_cols_; ++i) {
      const auto value = static_cast<float>(100 * (first + i / n_cols_) + i % n_cols_);
      std::memcpy(out + i * 4, &value, 4);
    }
  }

  [[nodiscard]] size_t file_bytes() const override { return 0; }

  mutable int n_calls = 0;

 private:
  int64_t n_cols_;
};

std::vector<int64_t> file_rows(const MatrixView& view) {
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < view.n_rows; ++row) {
    rows.push_back(view.file_row(row));
  }
  return rows;
}

using Rows = std::vector<int64_t>;

TEST(MatrixView, RowsOfEveryPattern) {
  EXPECT_EQ(file_rows({nullptr, 3, 8}), (Rows{0, 1, 2}));
  EXPECT_EQ(file_rows({nullptr, 3, 8, 5}), (Rows{5, 6, 7}));
  EXPECT_EQ(file_rows({nullptr, 4, 8, 1, 1, 2}), (Rows{1, 3, 5, 7}));            // every second
  EXPECT_EQ(file_rows({nullptr, 6, 8, 4, 2, 7}), (Rows{4, 5, 11, 12, 18, 19}));  // runs of two
}

TEST(MatrixView, ReadsTheRowsItNames) {
  const Stored stored = numbered(20, 3);
  const MatrixView view = {&stored.tensor, 4, 3, 2, 2, 8};
  EXPECT_EQ(read_floats(view),
            (std::vector<float>{200, 201, 202, 300, 301, 302, 1000, 1001, 1002, 1100, 1101, 1102}));
  EXPECT_TRUE(view.has_file_rows());
  ViewReader reader;  // nothing is copied
  EXPECT_EQ(reader.read_rows(view, 2, 1)[0], stored.bytes.data() + 10 * 3 * 4);
}

TEST(MatrixView, TransposedRowsAreColumns) {
  const Stored stored = numbered(12, 300);  // more columns than are turned at once
  // Row r is column 250 + 2 r of file rows 4 to 6.
  const MatrixView view = {&stored.tensor, 24, 3, 250, 1, 2, true, 4};
  const std::vector<float> values = read_floats(view);
  for (int r = 0; r < 24; ++r) {
    for (int c = 0; c < 3; ++c) {
      ASSERT_EQ(values[static_cast<size_t>(3 * r + c)],
                static_cast<float>(100 * (4 + c) + 250 + 2 * r));
    }
  }
  EXPECT_FALSE(view.has_file_rows());
}

// One reader sees experts of one tensor in turn: what it turned for one is not the next one's.
TEST(MatrixView, AReaderServesManyViews) {
  const Stored stored = numbered(8, 6);
  const Stored other = numbered(8, 6);
  ViewReader reader;
  const auto first_value = [&](const FileTensor& tensor, int64_t origin, int64_t row) {
    const MatrixView view = {&tensor, 6, 4, 0, 1, 1, true, origin};
    float value = 0;
    std::memcpy(&value, reader.read_rows(view, row, 1)[0], sizeof(float));
    return value;
  };
  EXPECT_EQ(first_value(stored.tensor, 0, 2), 2);
  EXPECT_EQ(first_value(stored.tensor, 4, 2), 402);
  EXPECT_EQ(first_value(other.tensor, 0, 5), 5);
  EXPECT_EQ(first_value(stored.tensor, 4, 5), 405);
}

// Rows of blocks: column c of the turned matrix is the dequantized row.
TEST(MatrixView, TransposesBlockTypes) {
  std::mt19937 random(4);
  for (const DType type : {DType::kBF16, DType::kQ8_0, DType::kQ4_K}) {
    constexpr int64_t kRows = 5;
    constexpr int64_t kCols = 512;
    const auto bytes = test::random_weights(type, kRows * kCols, random);
    const FileTensor tensor = {"t", type, {kRows, kCols}, bytes, nullptr, nullptr};
    std::vector<float> plain(kRows * kCols);
    for (int64_t r = 0; r < kRows; ++r) {
      quant::dequantize_row(type, bytes.data() + r * quant::row_bytes(type, kCols), kCols,
                            plain.data() + r * kCols);
    }
    const MatrixView view = {&tensor, kCols, 3, 0, 1, 1, true, 2};
    const std::vector<float> turned = read_floats(view);
    for (int64_t r = 0; r < kCols; ++r) {
      for (int64_t c = 0; c < 3; ++c) {
        ASSERT_EQ(turned[static_cast<size_t>(3 * r + c)],
                  plain[static_cast<size_t>((2 + c) * kCols + r)])
            << name_of(type) << " " << r << " " << c;
      }
    }
    EXPECT_EQ(view.row_type(), DType::kF32);
    EXPECT_EQ(view.packed_type(false), DType::kBF16);
    EXPECT_EQ(view.packed_type(true), DType::kF32);
  }
}

TEST(MatrixView, WholeRowsKeepTheirType) {
  const FileTensor q4 = {"t", DType::kQ4_K, {4, 256}, {}, nullptr, nullptr};
  const MatrixView view = {&q4, 4, 256};
  EXPECT_EQ(view.row_type(), DType::kQ4_K);
  EXPECT_EQ(view.packed_type(false), DType::kQ4_K);
  EXPECT_EQ(view.packed_type(true), DType::kF32);
  const Stored f32 = numbered(2, 2);
  EXPECT_EQ((MatrixView{&f32.tensor, 2, 2, 0, 1, 1, true, 0}).packed_type(false), DType::kF32);
}

TEST(MatrixView, ReadersAreAskedForRunsOfRows) {
  const auto reader = std::make_shared<NumberedReader>(3);
  const FileTensor tensor = {"t", DType::kF32, {40, 3}, {}, reader, nullptr};
  const MatrixView view = {&tensor, 16, 3, 4, 4, 9};  // four runs of four
  const std::vector<float> values = read_floats(view);
  for (int r = 0; r < 16; ++r) {
    EXPECT_EQ(values[static_cast<size_t>(3 * r)],
              static_cast<float>(100 * (4 + r / 4 * 9 + r % 4)));
  }
  EXPECT_EQ(reader->n_calls, 4);
  const MatrixView turned = {&tensor, 3, 2, 0, 1, 1, true, 20};
  EXPECT_EQ(read_floats(turned), (std::vector<float>{2000, 2100, 2001, 2101, 2002, 2102}));
}

TEST(MatrixView, ColumnOrderSaysWhichInputAColumnMeets) {
  Stored stored = numbered(3, 4);
  stored.tensor.column_order = std::make_shared<std::vector<int32_t>>(std::vector{2, 0, 3, 1});
  const MatrixView view = {&stored.tensor, 2, 4, 1};
  EXPECT_FALSE(view.has_file_rows());
  // Stored column 0 belongs to input 2, 1 to 0, 2 to 3, 3 to 1.
  EXPECT_EQ(read_floats(view), (std::vector<float>{101, 103, 100, 102, 201, 203, 200, 202}));
  stored.tensor.type = DType::kQ4_0;
  EXPECT_EQ(view.packed_type(false), DType::kBF16);
}

}  // namespace
}  // namespace fathom::model
