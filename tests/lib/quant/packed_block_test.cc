// Bits of the packed layout set by hand, read back as codes and scales.
#include "quant/packed_block.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace fathom::quant {
namespace {

struct Tile {
  explicit Tile(DType type)
      : layout(tile_layout(type, 8)), bytes(static_cast<size_t>(layout.bytes)) {
    row.type = type;
    row.tile = bytes.data();
    row.layout = layout;
  }

  void set16(int offset, uint16_t value) { std::memcpy(bytes.data() + offset, &value, 2); }

  TileLayout layout;
  std::vector<std::byte> bytes;
  TileRow row;
};

TEST(PackedBlock, Q5_0) {
  Tile tile(DType::kQ5_0);
  // Block 2, row 3, k = 4 * 1 + 2 = 6 (low) and 22 (high): vector 1, byte 2.
  tile.bytes[static_cast<size_t>(tile.layout.codes + ((2 * 4 + 1) * 16 + 3) * 4 + 2)] =
      std::byte{0x59};
  // Top bit of k = 22: mask 22 / 4 = 5, bit 4 * 3 + 2 = 14, byte 1 bit 6.
  tile.bytes[static_cast<size_t>(tile.layout.high + (2 * 8 + 5) * 8 + 1)] = std::byte{0x40};
  tile.set16(tile.layout.scales + (2 * 16 + 3) * 2, 0x3C00);
  tile.row.r = 3;
  const PackedRow row = read_packed_row(tile.row, 2);
  EXPECT_EQ(row.w[6], 9 - 16);
  EXPECT_EQ(row.w[22], (5 | 16) - 16);
  EXPECT_EQ(row.w[7], -16);
  EXPECT_EQ(row.scale[0], 1.0F);
}

TEST(PackedBlock, Q4_KScalesAndMinimums) {
  Tile tile(DType::kQ4_K);
  tile.set16(tile.layout.scales + 5 * 2, 0x4000);  // d of row 5: 2
  tile.set16(tile.layout.mins + 5 * 2, 0xB800);    // dmin: -0.5
  const auto sub = static_cast<size_t>(tile.layout.sub);
  // Block 1: scale j = 16 + 5 = 21 stands in A[21]; minimum j = 128 + 21 = 149 in C[21].
  tile.bytes[sub + 21] = std::byte{63};
  tile.bytes[sub + 128 + 21] = std::byte{17};
  // Block 7: minimum j = 128 + 117 = 245, o = 53: top pairs of A, B, C [53] = 1, 2, 3: 1 + 8 + 48
  // = 57.
  tile.bytes[sub + 53] = std::byte{1 << 6};
  tile.bytes[sub + 64 + 53] = std::byte{2 << 6};
  tile.bytes[sub + 128 + 53] = std::byte{3 << 6};
  tile.row.r = 5;
  EXPECT_EQ(read_packed_row(tile.row, 1).scale[0], 126.0F);
  EXPECT_EQ(read_packed_row(tile.row, 1).min[0], -8.5F);
  EXPECT_EQ(read_packed_row(tile.row, 7).min[0], -28.5F);
}

TEST(PackedBlock, Q3_KFieldsAndZero) {
  Tile tile(DType::kQ3_K);
  // Block 0, row 0, k = 20 = 4 * 5: vector 5 is field 1 of half 1.
  tile.bytes[static_cast<size_t>(tile.layout.codes + (1 * 16 + 0) * 4)] = std::byte{3 << 2};
  tile.bytes[static_cast<size_t>(tile.layout.high + 5 * 8)] = std::byte{1};
  tile.set16(tile.layout.scales, 0x3C00);
  tile.bytes[static_cast<size_t>(tile.layout.sub + 16)] = std::byte{40};  // 16-group 1: 40 - 32
  const PackedRow row = read_packed_row(tile.row, 0);
  EXPECT_EQ(row.w[20], 7 - 4);
  EXPECT_EQ(row.w[21], -4);
  EXPECT_EQ(row.scale[0], -32.0F);
  EXPECT_EQ(row.scale[1], 8.0F);
  EXPECT_EQ(group_k_of(DType::kQ3_K), 16);
}

TEST(PackedBlock, MXFP4ScalesAreHalved) {
  Tile tile(DType::kMXFP4);
  // Block 1, row 2, k = 0 (low: -1.5) and 16 (high: 6).
  tile.bytes[static_cast<size_t>(tile.layout.codes + (1 * 4 * 16 + 2) * 4)] = std::byte{0x7B};
  tile.bytes[static_cast<size_t>(tile.layout.scales + 1 * 16 + 2)] = std::byte{128};  // 2
  tile.row.r = 2;
  const PackedRow row = read_packed_row(tile.row, 1);
  EXPECT_EQ(row.w[0], -3);
  EXPECT_EQ(row.w[16], 12);
  EXPECT_EQ(row.scale[0], 1.0F);
  EXPECT_EQ(read_packed_row(tile.row, 0).scale[0], 0x1p-128F);  // exponent 0
}

TEST(PackedBlock, GroupsCarryTheirZero) {
  Tile tile(DType::kI8Group);
  // Block 3, row 15, k = 31: vector 7, byte 3.
  tile.bytes[static_cast<size_t>(tile.layout.codes + ((3 * 8 + 7) * 16 + 15) * 4 + 3)] =
      std::byte{1};
  tile.bytes[static_cast<size_t>(tile.layout.zeros + 3 * 16 + 15)] = std::byte{255};
  const float scale = -0.1F;
  std::memcpy(tile.bytes.data() + tile.layout.scales + (3 * 16 + 15) * 4, &scale, sizeof scale);
  tile.row.r = 15;
  const PackedRow row = read_packed_row(tile.row, 3);
  EXPECT_EQ(row.w[31], -254);
  EXPECT_EQ(row.w[30], -255);
  EXPECT_EQ(row.scale[0], scale);
  EXPECT_FALSE(has_min(DType::kI8Group));
}

TEST(PackedBlock, Q4_1StoresThePlusMinimum) {
  Tile tile(DType::kQ4_1);
  tile.set16(tile.layout.mins, 0x3C00);
  EXPECT_EQ(read_packed_row(tile.row, 0).min[0], -1.0F);  // value = scale * w - min
  EXPECT_TRUE(has_min(DType::kQ4_1));
  EXPECT_FALSE(has_min(DType::kQ6_K));
}

}  // namespace
}  // namespace fathom::quant
