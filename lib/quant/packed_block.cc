// Reads the packed layout back, section by section: the definition of what its bits mean.
// Called by quant/pack (unpack_row), kernels/scalar/matmul. Read next: quant/packed.h,
// kernels/scalar/matmul.cc.
#include "quant/packed_block.h"

#include <cstring>

#include "base/half.h"
#include "quant/small_floats.h"

namespace fathom::quant {

namespace {

// Byte (vector, row r, i) of a section of vectors of 16 rows x 4 codes.
int code_byte(const std::byte* section, int vector, int r, int i) {
  return std::to_integer<int>(section[(vector * kGroupRows + r) * 4 + i]);
}

// Four bits of code vector v = k / 4: low half for k < 16, high half above.
int nibble_at(const TileRow& row, int b, int k) {
  const int byte = code_byte(row.tile + row.layout.codes, 4 * b + k % 16 / 4, row.r, k % 4);
  return k < 16 ? byte & 15 : byte >> 4;
}

// Two bits: field v % 4 of vector v / 4.
int field2_at(const TileRow& row, int offset, int b, int k) {
  const int v = k / 4;
  const int byte = code_byte(row.tile + offset, 2 * b + v / 4, row.r, k % 4);
  return byte >> (2 * (v % 4)) & 3;
}

// One bit: 4r + i of mask v.
int high1_at(const TileRow& row, int b, int k) {
  const int bit = 4 * row.r + k % 4;
  const std::byte* mask = row.tile + row.layout.high + ptrdiff_t{8 * b + k / 4} * 8;
  return std::to_integer<int>(mask[bit / 8]) >> (bit % 8) & 1;
}

// The zero point of a 32-block.
int zero_at(const TileRow& row, int b) {
  return std::to_integer<int>(row.tile[row.layout.zeros + b * kGroupRows + row.r]);
}

// The code that stands for 0 in block b; of code books, what was added to their values.
int zero_of(const TileRow& row, int b) {
  switch (row.type) {
    case DType::kQ4_0:
      return 8;
    case DType::kQ5_0:
      return 16;
    case DType::kQ8_0:
    case DType::kIQ4_NL:
    case DType::kIQ4_XS:
      return 128;
    case DType::kQ6_K:
      return 32;
    case DType::kQ3_K:
      return 4;
    case DType::kMXFP4:
      return 12;
    case DType::kI4Group:
    case DType::kI8Group:
      return zero_at(row, b);
    default:  // types with a minimum
      return 0;
  }
}

// The signed code that multiplies: code - zero.
int code_at(const TileRow& row, int b, int k) {
  const TileLayout& at = row.layout;
  switch (row.type) {
    case DType::kQ4_0:
      return nibble_at(row, b, k) - 8;
    case DType::kQ5_0:
      return (nibble_at(row, b, k) | high1_at(row, b, k) << 4) - 16;
    case DType::kQ5_1:
    case DType::kQ5_K:
      return nibble_at(row, b, k) | high1_at(row, b, k) << 4;
    case DType::kQ8_0:
      return code_byte(row.tile + at.codes, 8 * b + k / 4, row.r, k % 4) - 128;
    case DType::kQ6_K:
      return (nibble_at(row, b, k) | field2_at(row, at.high, b, k) << 4) - 32;
    case DType::kQ3_K:
      return (field2_at(row, at.codes, b, k) | high1_at(row, b, k) << 2) - 4;
    case DType::kQ2_K:
      return field2_at(row, at.codes, b, k);
    case DType::kIQ4_NL:
    case DType::kIQ4_XS:
      return kIq4Values[nibble_at(row, b, k)];
    case DType::kMXFP4:
      return kE2M1Doubled[nibble_at(row, b, k)];
    case DType::kI4Group:
      return nibble_at(row, b, k) - zero_at(row, b);
    case DType::kI8Group:
      return code_byte(row.tile + at.codes, 8 * b + k / 4, row.r, k % 4) - zero_at(row, b);
    default:  // Q4_1, Q4_K
      return nibble_at(row, b, k);
  }
}

float f16_at(const std::byte* section, int index) {
  uint16_t bits = 0;
  std::memcpy(&bits, section + static_cast<ptrdiff_t>(index) * 2, sizeof bits);
  return f16_to_f32(bits);
}

// Sub-scale (a small integer) and sub-minimum of group g of the tile.
struct SubScale {
  int scale = 0;
  int min = 0;
};

SubScale sub_scale_at(const TileRow& row, int g) {
  const std::byte* sub = row.tile + row.layout.sub;
  const int at = kGroupRows * g + row.r;
  const auto byte = [&] { return std::to_integer<uint8_t>(sub[at]); };
  switch (row.type) {
    case DType::kQ2_K:
      return {byte() & 15, byte() >> 4};
    case DType::kQ3_K:
      return {packed6_at(sub, at) - 32, 0};
    case DType::kQ6_K:
      return {static_cast<int8_t>(byte()), 0};
    case DType::kIQ4_XS:
      return {byte() - 32, 0};
    default:  // Q4_K, Q5_K
      return {packed6_at(sub, at), packed6_at(sub, 128 + at)};
  }
}

float block_scale_at(const TileRow& row, int b) {
  const std::byte* scales = row.tile + row.layout.scales;
  const int at = b * kGroupRows + row.r;
  switch (row.type) {
    case DType::kMXFP4:
      return half_of_e8m0(std::to_integer<uint8_t>(scales[at]));
    case DType::kI4Group:
    case DType::kI8Group: {
      float scale = 0.0F;
      std::memcpy(&scale, scales + ptrdiff_t{at} * 4, sizeof scale);
      return scale;
    }
    default:
      return f16_at(scales, at);
  }
}

void read_block_scale(const TileRow& row, int b, PackedRow* out) {
  out->scale[0] = block_scale_at(row, b);
  if (has_min(row.type)) {
    out->min[0] = -f16_at(row.tile + row.layout.mins, b * kGroupRows + row.r);
  }
}

void read_super_scales(const TileRow& row, int b, PackedRow* out) {
  const int n_groups = kBlockK / group_k_of(row.type);
  for (int g = 0; g < n_groups; ++g) {
    const SubScale sub = sub_scale_at(row, b * n_groups + g);
    out->scale[g] = f16_at(row.tile + row.layout.scales, row.r) * static_cast<float>(sub.scale);
    if (has_min(row.type)) {
      out->min[g] = f16_at(row.tile + row.layout.mins, row.r) * static_cast<float>(sub.min);
    }
  }
}

}  // namespace

int group_k_of(DType type) {
  const bool is_by16 = type == DType::kQ2_K || type == DType::kQ3_K || type == DType::kQ6_K;
  return is_by16 ? 16 : kBlockK;
}

bool has_min(DType type) {
  switch (type) {
    case DType::kQ4_1:
    case DType::kQ5_1:
    case DType::kQ2_K:
    case DType::kQ4_K:
    case DType::kQ5_K:
      return true;
    default:
      return false;
  }
}

int packed6_at(const std::byte* section, int j) {
  const auto at = [&](int index) { return std::to_integer<int>(section[index]); };
  if (j < 192) {
    return at(j) & 63;
  }
  const int o = j - 192;
  return at(o) >> 6 | at(64 + o) >> 6 << 2 | at(128 + o) >> 6 << 4;
}

PackedRow read_packed_row(const TileRow& row, int b) {
  PackedRow out = {};
  out.zero = static_cast<int16_t>(zero_of(row, b));
  for (int k = 0; k < kBlockK; ++k) {
    out.w[k] = static_cast<int16_t>(code_at(row, b, k));
  }
  if (row.layout.sub < 0) {
    read_block_scale(row, b, &out);
  } else {
    read_super_scales(row, b, &out);
  }
  return out;
}

}  // namespace fathom::quant
