// Reads the packed layout back, section by section: the definition of what its bits mean.
// Called by quant/unpack, kernels/scalar/matmul. Read next: quant/packed.h,
// kernels/scalar/matmul.cc.
#include "quant/packed_block.h"

#include <cstring>

#include "base/half.h"

namespace fathom::quant {

namespace {

const uint8_t* bytes_at(const std::byte* tile, int offset) {
  return reinterpret_cast<const uint8_t*>(tile + offset);
}

float f16_at(const std::byte* section, int index) {
  uint16_t bits = 0;
  std::memcpy(&bits, section + static_cast<ptrdiff_t>(index) * 2, sizeof bits);
  return f16_to_f32(bits);
}

// Each function below adds its part of the code of (r, k), k = 4v + i, v = 0..7, to w.

void add_nibbles(const uint8_t* block, PackedBlock* out) {
  for (int v = 0; v < 4; ++v) {
    for (int r = 0; r < kGroupRows; ++r) {
      for (int i = 0; i < 4; ++i) {
        const uint8_t byte = block[(v * kGroupRows + r) * 4 + i];
        out->w[r][4 * v + i] = static_cast<int8_t>(byte & 15);
        out->w[r][4 * v + i + 16] = static_cast<int8_t>(byte >> 4);
      }
    }
  }
}

void add_codes2(const uint8_t* block, int shift, PackedBlock* out) {
  for (int v = 0; v < 8; ++v) {
    for (int r = 0; r < kGroupRows; ++r) {
      for (int i = 0; i < 4; ++i) {
        const uint8_t byte = block[((v / 4) * kGroupRows + r) * 4 + i];
        const int field = byte >> (2 * (v % 4)) & 3;
        out->w[r][4 * v + i] = static_cast<int8_t>(out->w[r][4 * v + i] | field << shift);
      }
    }
  }
}

void add_high1(const uint8_t* block, int shift, PackedBlock* out) {
  for (int v = 0; v < 8; ++v) {
    uint64_t mask = 0;
    std::memcpy(&mask, block + static_cast<ptrdiff_t>(v) * 8, sizeof mask);
    for (int r = 0; r < kGroupRows; ++r) {
      for (int i = 0; i < 4; ++i) {
        const auto bit = static_cast<int>(mask >> (4 * r + i) & 1U);
        out->w[r][4 * v + i] = static_cast<int8_t>(out->w[r][4 * v + i] | bit << shift);
      }
    }
  }
}

void subtract_zero(int zero, PackedBlock* out) {
  for (auto& row : out->w) {
    for (int8_t& code : row) {
      code = static_cast<int8_t>(code - zero);
    }
  }
}

void map_iq4(PackedBlock* out) {
  for (auto& row : out->w) {
    for (int8_t& code : row) {
      code = kIq4Values[code];
    }
  }
}

void clear_codes(PackedBlock* out) {
  std::memset(out->w, 0, sizeof out->w);
}

void read_bytes(const uint8_t* block, PackedBlock* out) {
  for (int v = 0; v < 8; ++v) {
    for (int r = 0; r < kGroupRows; ++r) {
      for (int i = 0; i < 4; ++i) {
        out->w[r][4 * v + i] = static_cast<int8_t>(block[(v * kGroupRows + r) * 4 + i] - 128);
      }
    }
  }
}

void read_codes(DType type, const std::byte* tile, const TileLayout& layout, int b,
                PackedBlock* out) {
  const uint8_t* codes = bytes_at(tile, layout.codes);
  const uint8_t* nibbles = codes + static_cast<ptrdiff_t>(b) * 256;
  const uint8_t* codes2 = codes + static_cast<ptrdiff_t>(b) * 128;
  switch (type) {
    case DType::kQ4_0:
      add_nibbles(nibbles, out);
      subtract_zero(8, out);
      break;
    case DType::kQ5_0:
      add_nibbles(nibbles, out);
      add_high1(bytes_at(tile, layout.high) + static_cast<ptrdiff_t>(b) * 64, 4, out);
      subtract_zero(16, out);
      break;
    case DType::kQ5_1:
    case DType::kQ5_K:
      add_nibbles(nibbles, out);
      add_high1(bytes_at(tile, layout.high) + static_cast<ptrdiff_t>(b) * 64, 4, out);
      break;
    case DType::kQ8_0:
      read_bytes(codes + static_cast<ptrdiff_t>(b) * 512, out);
      break;
    case DType::kQ6_K:
      add_nibbles(nibbles, out);
      add_codes2(bytes_at(tile, layout.high) + static_cast<ptrdiff_t>(b) * 128, 4, out);
      subtract_zero(32, out);
      break;
    case DType::kQ3_K:
      clear_codes(out);
      add_codes2(codes2, 0, out);
      add_high1(bytes_at(tile, layout.high) + static_cast<ptrdiff_t>(b) * 64, 2, out);
      subtract_zero(4, out);
      break;
    case DType::kQ2_K:
      clear_codes(out);
      add_codes2(codes2, 0, out);
      break;
    case DType::kIQ4_NL:
    case DType::kIQ4_XS:
      add_nibbles(nibbles, out);
      map_iq4(out);
      break;
    default:  // Q4_1, Q4_K
      add_nibbles(nibbles, out);
      break;
  }
}

void read_block_scales(const std::byte* tile, const TileLayout& layout, int b, PackedBlock* out) {
  out->group_k = kBlockK;
  out->has_min = layout.mins >= 0;
  for (int r = 0; r < kGroupRows; ++r) {
    out->scale[0][r] = f16_at(tile + layout.scales, b * kGroupRows + r);
    if (out->has_min) {
      out->min[0][r] = -f16_at(tile + layout.mins, b * kGroupRows + r);
    }
  }
}

// Sub-scale (a small integer) and sub-minimum of row r in 16- or 32-group g of the tile.
struct SubScale {
  int scale = 0;
  int min = 0;
};

SubScale sub_scale_at(DType type, const std::byte* sub, int g, int r) {
  const int at = kGroupRows * g + r;
  const auto byte_at = [&] { return std::to_integer<uint8_t>(sub[at]); };
  switch (type) {
    case DType::kQ2_K:
      return {byte_at() & 15, byte_at() >> 4};
    case DType::kQ3_K:
      return {packed6_at(sub, at) - 32, 0};
    case DType::kQ6_K:
      return {static_cast<int8_t>(byte_at()), 0};
    case DType::kIQ4_XS:
      return {byte_at() - 32, 0};
    default:  // Q4_K, Q5_K
      return {packed6_at(sub, at), packed6_at(sub, 128 + at)};
  }
}

void read_super_scales(DType type, const std::byte* tile, const TileLayout& layout, int b,
                       PackedBlock* out) {
  const bool is_by16 = type == DType::kQ2_K || type == DType::kQ3_K || type == DType::kQ6_K;
  out->group_k = is_by16 ? 16 : kBlockK;
  out->has_min = layout.mins >= 0;
  const int n_groups = kBlockK / out->group_k;
  for (int g = 0; g < n_groups; ++g) {
    for (int r = 0; r < kGroupRows; ++r) {
      const SubScale sub = sub_scale_at(type, tile + layout.sub, b * n_groups + g, r);
      out->scale[g][r] = f16_at(tile + layout.scales, r) * static_cast<float>(sub.scale);
      if (out->has_min) {
        out->min[g][r] = f16_at(tile + layout.mins, r) * static_cast<float>(sub.min);
      }
    }
  }
}

}  // namespace

int packed6_at(const std::byte* section, int j) {
  const auto* a = reinterpret_cast<const uint8_t*>(section);
  if (j < 192) {
    return a[j] & 63;
  }
  const int o = j - 192;
  return a[o] >> 6 | a[64 + o] >> 6 << 2 | a[128 + o] >> 6 << 4;
}

void read_packed_block(DType type, const std::byte* tile, const TileLayout& layout, int b,
                       PackedBlock* out) {
  read_codes(type, tile, layout, b, out);
  if (layout.sub < 0) {
    read_block_scales(tile, layout, b, out);
  } else {
    read_super_scales(type, tile, layout, b, out);
  }
}

}  // namespace fathom::quant
