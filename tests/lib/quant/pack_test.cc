// Packing keeps every value: a packed row read back equals the file row, for every type and odd
// shapes.
#include "quant/pack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/half.h"
#include "quant/formats.h"

namespace fathom::quant {
namespace {

constexpr DType kFileTypes[] = {DType::kF32,     DType::kF16,     DType::kBF16,    DType::kQ4_0,
                                DType::kQ4_1,    DType::kQ5_0,    DType::kQ5_1,    DType::kQ8_0,
                                DType::kQ2_K,    DType::kQ3_K,    DType::kQ4_K,    DType::kQ5_K,
                                DType::kQ6_K,    DType::kIQ4_NL,  DType::kIQ4_XS,  DType::kMXFP4,
                                DType::kI4Group, DType::kI8Group, DType::kF8_E4M3, DType::kF8_E5M2};

// A file matrix of random bytes whose values are all finite, and those values.
struct FileMatrix {
  FileMatrix(DType file_type, int64_t rows, int64_t cols, uint64_t seed)
      : type(file_type), n_rows(rows), n_cols(cols) {
    std::mt19937_64 random(seed);
    const Format& format = format_of(type);
    bytes.resize(static_cast<size_t>(n_rows * row_bytes(type, n_cols)));
    values.resize(static_cast<size_t>(n_rows * n_cols));
    float* value = values.data();
    for (size_t at = 0; at < bytes.size(); at += static_cast<size_t>(format.bytes_per_block)) {
      do {
        for (int i = 0; i < format.bytes_per_block; ++i) {
          bytes[at + static_cast<size_t>(i)] = static_cast<std::byte>(random() >> 56);
        }
        dequantize_row(type, bytes.data() + at, format.values_per_block, value);
      } while (!is_finite(value, format.values_per_block));
      value += format.values_per_block;
    }
  }

  static bool is_finite(const float* x, int n) {
    for (int i = 0; i < n; ++i) {
      if (!std::isfinite(x[i])) {
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] const std::byte* row(int64_t r) const {
    return bytes.data() + r * row_bytes(type, n_cols);
  }

  DType type;
  int64_t n_rows;
  int64_t n_cols;
  std::vector<std::byte> bytes;
  std::vector<float> values;
};

// A packed copy, filled with junk before packing.
struct Packed {
  Packed(const FileMatrix& file, bool as_f32) : store(size_of(file, as_f32) + 64, std::byte{0xEE}) {
    const auto at = reinterpret_cast<uintptr_t>(store.data());
    std::byte* data = store.data() + (64 - at % 64) % 64;
    matrix = {packed_type_of(file.type, as_f32), file.n_rows, file.n_cols, data, 0};
    matrix.group_stride_bytes = group_bytes(matrix.type, file.n_cols);
    for (int64_t g = 0; g < matrix.n_groups(); ++g) {
      PackGroup job;
      job.file_type = file.type;
      job.packed_type = matrix.type;
      job.n_cols = file.n_cols;
      job.out = data + g * matrix.group_stride_bytes;
      for (int64_t r = 0; r < kGroupRows; ++r) {
        const int64_t row = g * kGroupRows + r;
        job.rows[static_cast<size_t>(r)] = row < file.n_rows ? file.row(row) : nullptr;
      }
      const int bad = pack_group(job);
      bad_row = bad >= 0 && bad_row < 0 ? g * kGroupRows + bad : bad_row;
    }
  }

  static size_t size_of(const FileMatrix& file, bool as_f32) {
    return static_cast<size_t>(
        packed_bytes(packed_type_of(file.type, as_f32), file.n_rows, file.n_cols));
  }

  std::vector<std::byte> store;
  PackedMatrix matrix;
  int64_t bad_row = -1;
};

// One group of BF16, whatever the file's type.
struct AlignedGroup {
  explicit AlignedGroup(int64_t n_cols)
      : store(static_cast<size_t>(group_bytes(DType::kBF16, n_cols)) + 64) {
    const auto at = reinterpret_cast<uintptr_t>(store.data());
    matrix = {DType::kBF16, 16, n_cols, store.data() + (64 - at % 64) % 64,
              group_bytes(DType::kBF16, n_cols)};
  }

  int pack(const FileMatrix& file) {
    PackGroup job;
    job.file_type = file.type;
    job.packed_type = DType::kBF16;
    job.n_cols = file.n_cols;
    job.out = const_cast<std::byte*>(matrix.data);
    for (int64_t r = 0; r < kGroupRows; ++r) {
      job.rows[static_cast<size_t>(r)] = file.row(r);
    }
    return pack_group(job);
  }

  std::vector<std::byte> store;
  PackedMatrix matrix;
};

void expect_kept(const FileMatrix& file, bool as_f32) {
  const Packed packed(file, as_f32);
  ASSERT_EQ(packed.bad_row, -1);
  std::vector<float> out(static_cast<size_t>(file.n_cols));
  // One row past the end, if the last group has it, is zero.
  for (int64_t r = 0; r < packed.matrix.n_groups() * kGroupRows; ++r) {
    unpack_row(packed.matrix, r, out.data());
    for (int64_t k = 0; k < file.n_cols; ++k) {
      float want = r < file.n_rows ? file.values[static_cast<size_t>(r * file.n_cols + k)] : 0.0F;
      want = packed.matrix.type == DType::kBF16 ? round_to_bf16_operand(want) : want;
      ASSERT_EQ(out[static_cast<size_t>(k)], want)
          << name_of(file.type) << " row " << r << " k " << k << " as_f32 " << as_f32;
    }
  }
}

TEST(Pack, KeepsEveryValueOfEveryType) {
  for (const DType type : kFileTypes) {
    for (const int64_t n_cols : {256, 768, 32, 608}) {
      if (n_cols % format_of(type).values_per_block != 0) {
        continue;
      }
      const FileMatrix file(type, 37, n_cols, static_cast<uint64_t>(n_cols));
      expect_kept(file, false);
      expect_kept(file, true);
    }
  }
}

TEST(Pack, FloatsMayEndInsideABlock) {
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const int64_t n_cols : {1, 31, 257, 300}) {
      const FileMatrix file(type, 5, n_cols, 9);
      expect_kept(file, false);
      expect_kept(file, true);
    }
  }
}

TEST(Pack, NamesTheFirstRowThatIsNotFinite) {
  struct Case {
    DType type;
    int half_at;  // offset of an f16 or bf16 inside the first block
  };

  for (const Case& c :
       {Case{DType::kF16, 6}, Case{DType::kBF16, 2}, Case{DType::kF32, 2}, Case{DType::kQ4_0, 0},
        Case{DType::kQ4_1, 0}, Case{DType::kQ4_1, 2}, Case{DType::kQ5_0, 0}, Case{DType::kQ5_1, 2},
        Case{DType::kQ8_0, 0}, Case{DType::kQ2_K, 80}, Case{DType::kQ2_K, 82},
        Case{DType::kQ3_K, 108}, Case{DType::kQ4_K, 0}, Case{DType::kQ4_K, 2},
        Case{DType::kQ5_K, 2}, Case{DType::kQ6_K, 208}, Case{DType::kIQ4_NL, 0},
        Case{DType::kIQ4_XS, 0}}) {
    for (const bool as_nan : {false, true}) {
      FileMatrix file(c.type, 32, 512, 3);
      const bool is_f16 = c.type != DType::kBF16 && c.type != DType::kF32;
      const uint16_t inf = is_f16 ? 0x7C00 : 0x7F80;
      const auto bits = static_cast<uint16_t>(inf | (as_nan ? 0x8001 : 0));
      // The second tile of rows 18 and 29.
      for (const int64_t row : {29, 18}) {
        const auto at = static_cast<size_t>(row * row_bytes(c.type, 512) + row_bytes(c.type, 256)) +
                        static_cast<size_t>(c.half_at);
        file.bytes[at] = static_cast<std::byte>(bits & 0xFF);
        file.bytes[at + 1] = static_cast<std::byte>(bits >> 8);
      }
      EXPECT_EQ(Packed(file, false).bad_row, 18) << name_of(c.type) << " at " << c.half_at;
      EXPECT_EQ(Packed(file, true).bad_row, 18) << name_of(c.type) << " at " << c.half_at;
    }
  }
}

// Types whose bad values are a single byte: E8M0 255; the NaNs of F8, the infinity of E5M2.
TEST(Pack, NamesTheRowOfABadByte) {
  struct Case {
    DType type;
    uint8_t bad;
  };

  for (const Case& c :
       {Case{DType::kMXFP4, 0xFF}, Case{DType::kF8_E4M3, 0x7F}, Case{DType::kF8_E4M3, 0xFF},
        Case{DType::kF8_E5M2, 0x7C}, Case{DType::kF8_E5M2, 0xFE}}) {
    FileMatrix file(c.type, 20, 288, 6);
    const int64_t at = 17 * row_bytes(c.type, 288) + row_bytes(c.type, 256);
    file.bytes[static_cast<size_t>(at)] = std::byte{c.bad};
    EXPECT_EQ(Packed(file, false).bad_row, 17) << name_of(c.type);
    EXPECT_EQ(Packed(file, true).bad_row, 17) << name_of(c.type);
  }
}

TEST(Pack, AnyTypeBecomesBf16ToNearestEven) {
  for (const DType type : {DType::kF32, DType::kQ4_0, DType::kMXFP4, DType::kI8Group}) {
    const FileMatrix file(type, 16, 288, 8);
    AlignedGroup group(288);
    std::vector<float> out(288);
    // Random words may round to Inf; then some row must be named.
    const bool has_large = std::ranges::any_of(
        file.values, [](float x) { return std::isinf(round_to_bf16_operand(x)); });
    const int bad = group.pack(file);
    if (has_large) {
      EXPECT_GE(bad, 0);
      continue;
    }
    ASSERT_EQ(bad, -1) << name_of(type);
    for (int64_t r = 0; r < 16; ++r) {
      unpack_row(group.matrix, r, out.data());
      for (size_t k = 0; k < 288; ++k) {
        const float want = file.values[static_cast<size_t>(r) * 288 + k];
        ASSERT_EQ(out[k], round_to_bf16_operand(want)) << name_of(type) << " " << r << " " << k;
      }
    }
  }
}

TEST(Pack, F32ThatRoundsToInfinityAsBf16IsBad) {
  FileMatrix file(DType::kF32, 16, 32, 8);
  for (size_t i = 0; i < file.values.size(); ++i) {
    file.values[i] = 1.0F;
  }
  const uint32_t words[] = {0x7F7F8000U, 0x7F800000U, 0xFFFFFFFFU, 0x7F7F7FFFU};
  for (const uint32_t word : words) {
    file.values[9 * 32 + 5] = std::bit_cast<float>(word);
    std::memcpy(file.bytes.data(), file.values.data(), file.bytes.size());
    AlignedGroup group(32);
    EXPECT_EQ(group.pack(file), word == 0x7F7F7FFFU ? -1 : 9) << std::hex << word;
  }
}

TEST(Pack, F16BecomesBf16ToNearestEven) {
  FileMatrix file(DType::kF16, 1, 32, 1);
  const uint16_t halves[4] = {0x3C04, 0x3C0C, 0x8000, 0x0001};  // 1 + 2^-8, 1 + 3 * 2^-8, -0, 2^-24
  std::memcpy(file.bytes.data(), halves, sizeof halves);
  const Packed packed(file, false);
  float out[32];
  unpack_row(packed.matrix, 0, out);
  EXPECT_EQ(out[0], 1.0F);
  EXPECT_EQ(out[1], 1.0F + 0x1p-6F);
  EXPECT_EQ(std::bit_cast<uint32_t>(out[2]), 0U);
  EXPECT_EQ(out[3], 0x1p-24F);
}

TEST(Pack, GroupsMayLieApart) {
  const FileMatrix file(DType::kQ8_0, 20, 64, 4);
  const Packed packed(file, false);
  // The same groups with a gap between them, as gate and up joined.
  const int64_t bytes = packed.matrix.group_stride_bytes;
  std::vector<std::byte> apart(static_cast<size_t>(4 * bytes));
  std::memcpy(apart.data(), packed.matrix.group(0), static_cast<size_t>(bytes));
  std::memcpy(apart.data() + 2 * bytes, packed.matrix.group(1), static_cast<size_t>(bytes));
  const PackedMatrix spread = {DType::kQ8_0, 20, 64, apart.data(), 2 * bytes};
  float out[64];
  unpack_row(spread, 19, out);
  for (size_t k = 0; k < 64; ++k) {
    EXPECT_EQ(out[k], file.values[19 * 64 + k]);
  }
}

}  // namespace
}  // namespace fathom::quant
