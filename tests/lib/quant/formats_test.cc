// The table of formats against the numbers of the GGUF document.
#include "quant/formats.h"

#include <gtest/gtest.h>

#include "quant/blocks.h"

namespace fathom::quant {
namespace {

TEST(Formats, SizesMatchTheBlocks) {
  EXPECT_EQ(format_of(DType::kQ4_0).bytes_per_block, int{sizeof(BlockQ4_0)});
  EXPECT_EQ(format_of(DType::kQ4_1).bytes_per_block, int{sizeof(BlockQ4_1)});
  EXPECT_EQ(format_of(DType::kQ5_0).bytes_per_block, int{sizeof(BlockQ5_0)});
  EXPECT_EQ(format_of(DType::kQ5_1).bytes_per_block, int{sizeof(BlockQ5_1)});
  EXPECT_EQ(format_of(DType::kQ8_0).bytes_per_block, int{sizeof(BlockQ8_0)});
  EXPECT_EQ(format_of(DType::kQ2_K).bytes_per_block, int{sizeof(BlockQ2_K)});
  EXPECT_EQ(format_of(DType::kQ3_K).bytes_per_block, int{sizeof(BlockQ3_K)});
  EXPECT_EQ(format_of(DType::kQ4_K).bytes_per_block, int{sizeof(BlockQ4_K)});
  EXPECT_EQ(format_of(DType::kQ5_K).bytes_per_block, int{sizeof(BlockQ5_K)});
  EXPECT_EQ(format_of(DType::kQ6_K).bytes_per_block, int{sizeof(BlockQ6_K)});
  EXPECT_EQ(format_of(DType::kIQ4_NL).bytes_per_block, int{sizeof(BlockIQ4_NL)});
  EXPECT_EQ(format_of(DType::kIQ4_XS).bytes_per_block, int{sizeof(BlockIQ4_XS)});
  EXPECT_EQ(format_of(DType::kMXFP4).bytes_per_block, int{sizeof(BlockMXFP4)});
  EXPECT_EQ(format_of(DType::kI4Group).bytes_per_block, int{sizeof(BlockI4Group)});
  EXPECT_EQ(format_of(DType::kI8Group).bytes_per_block, int{sizeof(BlockI8Group)});
}

TEST(Formats, NumbersOfTheFile) {
  EXPECT_EQ(find_ggml_type(0), DType::kF32);
  EXPECT_EQ(find_ggml_type(1), DType::kF16);
  EXPECT_EQ(find_ggml_type(3), DType::kQ4_1);
  EXPECT_EQ(find_ggml_type(8), DType::kQ8_0);
  EXPECT_EQ(find_ggml_type(12), DType::kQ4_K);
  EXPECT_EQ(find_ggml_type(14), DType::kQ6_K);
  EXPECT_EQ(find_ggml_type(20), DType::kIQ4_NL);
  EXPECT_EQ(find_ggml_type(23), DType::kIQ4_XS);
  EXPECT_EQ(find_ggml_type(30), DType::kBF16);
  EXPECT_EQ(find_ggml_type(39), DType::kMXFP4);
  EXPECT_EQ(find_ggml_type(4), std::nullopt);  // withdrawn: Q4_2
  EXPECT_EQ(find_ggml_type(0xFFFFFFFFU), std::nullopt);
}

TEST(Formats, RowBytes) {
  EXPECT_EQ(row_bytes(DType::kF16, 7), 14);
  EXPECT_EQ(row_bytes(DType::kQ4_1, 576), 360);
  EXPECT_EQ(row_bytes(DType::kQ6_K, 512), 420);
  EXPECT_EQ(row_bytes(DType::kMXFP4, 64), 34);
  EXPECT_EQ(row_bytes(DType::kF8_E4M3, 7), 7);
}

}  // namespace
}  // namespace fathom::quant
