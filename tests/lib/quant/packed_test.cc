// The sizes of the packed layout by hand, from the table in quant/packed.h.
#include "quant/packed.h"

#include <gtest/gtest.h>

namespace fathom::quant {
namespace {

TEST(Packed, FullTiles) {
  EXPECT_EQ(tile_layout(DType::kQ4_0, 8).bytes, 256 + 2048);
  EXPECT_EQ(tile_layout(DType::kQ4_1, 8).bytes, 256 + 256 + 2048);
  EXPECT_EQ(tile_layout(DType::kQ5_0, 8).bytes, 256 + 2048 + 512);
  EXPECT_EQ(tile_layout(DType::kQ5_1, 8).bytes, 256 + 256 + 2048 + 512);
  EXPECT_EQ(tile_layout(DType::kQ8_0, 8).bytes, 256 + 4096);
  EXPECT_EQ(tile_layout(DType::kQ2_K, 8).bytes, 64 + 256 + 1024);
  EXPECT_EQ(tile_layout(DType::kQ3_K, 8).bytes, 64 + 192 + 1024 + 512);
  EXPECT_EQ(tile_layout(DType::kQ4_K, 8).bytes, 64 + 192 + 2048);
  EXPECT_EQ(tile_layout(DType::kQ5_K, 8).bytes, 64 + 192 + 2048 + 512);
  EXPECT_EQ(tile_layout(DType::kQ6_K, 8).bytes, 64 + 256 + 2048 + 1024);
  EXPECT_EQ(tile_layout(DType::kIQ4_XS, 8).bytes, 64 + 128 + 2048);
  EXPECT_EQ(tile_layout(DType::kMXFP4, 8).bytes, 128 + 2048);
  EXPECT_EQ(tile_layout(DType::kI4Group, 8).bytes, 512 + 128 + 2048);
  EXPECT_EQ(tile_layout(DType::kI8Group, 8).bytes, 512 + 128 + 4096);
  EXPECT_EQ(tile_layout(DType::kBF16, 8).bytes, 8192);
  EXPECT_EQ(tile_layout(DType::kF32, 8).bytes, 16384);
}

TEST(Packed, SectionsStartOnCacheLines) {
  const TileLayout q4_1 = tile_layout(DType::kQ4_1, 3);  // 96 bytes of scales fill two lines
  EXPECT_EQ(q4_1.scales, 0);
  EXPECT_EQ(q4_1.mins, 128);
  EXPECT_EQ(q4_1.codes, 256);
  EXPECT_EQ(q4_1.sub, -1);
  EXPECT_EQ(q4_1.high, -1);
  EXPECT_EQ(q4_1.bytes, 256 + 3 * 256);
  const TileLayout group = tile_layout(DType::kI4Group, 3);  // 48 zero points in one line
  EXPECT_EQ(group.scales, 0);
  EXPECT_EQ(group.mins, -1);
  EXPECT_EQ(group.zeros, 192);
  EXPECT_EQ(group.codes, 256);
  EXPECT_EQ(group.bytes, 256 + 3 * 256);
  const TileLayout q5_k = tile_layout(DType::kQ5_K, 8);
  EXPECT_EQ(q5_k.scales, 0);
  EXPECT_EQ(q5_k.mins, 32);
  EXPECT_EQ(q5_k.sub, 64);
  EXPECT_EQ(q5_k.codes, 256);
  EXPECT_EQ(q5_k.high, 256 + 2048);
}

TEST(Packed, GroupsAndMatrices) {
  // 576 columns: two tiles of 8 blocks and one of 2 (64 bytes of scales each for d and m).
  EXPECT_EQ(group_bytes(DType::kQ4_1, 576), 2 * 2560 + 64 + 64 + 2 * 256);
  EXPECT_EQ(group_bytes(DType::kF32, 33), 2 * 32 * 16 * 4);  // columns rounded up to 64
  EXPECT_EQ(packed_bytes(DType::kQ8_0, 17, 256), 2 * 4352);
}

TEST(Packed, Types) {
  EXPECT_EQ(packed_type_of(DType::kF16, false), DType::kBF16);
  EXPECT_EQ(packed_type_of(DType::kF8_E4M3, false), DType::kBF16);
  EXPECT_EQ(packed_type_of(DType::kF8_E5M2, false), DType::kBF16);
  EXPECT_EQ(packed_type_of(DType::kMXFP4, false), DType::kMXFP4);
  EXPECT_EQ(packed_type_of(DType::kQ6_K, false), DType::kQ6_K);
  EXPECT_EQ(packed_type_of(DType::kQ6_K, true), DType::kF32);
  EXPECT_TRUE(is_packed_type(DType::kIQ4_XS));
  EXPECT_FALSE(is_packed_type(DType::kF16));
  EXPECT_FALSE(is_packed_type(DType::kF8_E5M2));
  EXPECT_FALSE(is_packed_type(DType::kI32));
}

}  // namespace
}  // namespace fathom::quant
