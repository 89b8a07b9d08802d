// Where the sections of a packed tile lie, and how large packed matrices are.
// Called by quant/pack, kernels, ops, model/load. Read next: quant/packed_block.cc.
#include "quant/packed.h"

#include "base/check.h"
#include "quant/formats.h"

namespace fathom::quant {

namespace {

constexpr int kLine = 64;                           // sections start on cache lines
constexpr int kHalfScales = kGroupRows * 2;         // bytes: one f16 per row
constexpr int kNibbles = kGroupRows * kBlockK / 2;  // bytes of 4-bit codes of a 32-block
constexpr int kBytes = kGroupRows * kBlockK;
constexpr int kBits2 = kGroupRows * kBlockK / 4;
constexpr int kBits1 = kGroupRows * kBlockK / 8;
constexpr int kPacked6 = 192;                          // 256 six-bit values
constexpr int kSubBytes16 = kGroupRows * kTileK / 16;  // one byte per row and 16-group
constexpr int kSubBytes32 = kGroupRows * kTileK / 32;

// Appends sections to a layout.
class Builder {
 public:
  explicit Builder(int n_blocks) : n_blocks_(n_blocks) {}

  int section(int bytes) {
    const int offset = layout.bytes;
    layout.bytes += (bytes + kLine - 1) / kLine * kLine;
    return offset;
  }

  void block_scales(bool with_mins) {
    layout.scales = section(kHalfScales * n_blocks_);
    if (with_mins) {
      layout.mins = section(kHalfScales * n_blocks_);
    }
  }

  // d in the first half of a line, dmin in the second.
  void super_scales(bool with_mins, int sub_bytes) {
    layout.scales = section(kLine);
    if (with_mins) {
      layout.mins = layout.scales + kHalfScales;
    }
    layout.sub = section(sub_bytes);
  }

  void codes(int bytes_per_block) { layout.codes = section(bytes_per_block * n_blocks_); }

  void high(int bytes_per_block) { layout.high = section(bytes_per_block * n_blocks_); }

  TileLayout layout;

 private:
  int n_blocks_;
};

}  // namespace

TileLayout tile_layout(DType type, int n_blocks) {
  FATHOM_CHECK(n_blocks >= 1 && n_blocks <= kTileK / kBlockK && is_packed_type(type));
  Builder b(n_blocks);
  switch (type) {
    case DType::kQ4_0:
    case DType::kIQ4_NL:
      b.block_scales(false);
      b.codes(kNibbles);
      break;
    case DType::kQ4_1:
      b.block_scales(true);
      b.codes(kNibbles);
      break;
    case DType::kQ5_0:
    case DType::kQ5_1:
      b.block_scales(type == DType::kQ5_1);
      b.codes(kNibbles);
      b.high(kBits1);
      break;
    case DType::kQ8_0:
      b.block_scales(false);
      b.codes(kBytes);
      break;
    case DType::kQ4_K:
      b.super_scales(true, kPacked6);
      b.codes(kNibbles);
      break;
    case DType::kQ5_K:
      b.super_scales(true, kPacked6);
      b.codes(kNibbles);
      b.high(kBits1);
      break;
    case DType::kQ6_K:
      b.super_scales(false, kSubBytes16);
      b.codes(kNibbles);
      b.high(kBits2);
      break;
    case DType::kQ3_K:
      b.super_scales(false, kPacked6);
      b.codes(kBits2);
      b.high(kBits1);
      break;
    case DType::kQ2_K:
      b.super_scales(true, kSubBytes16);
      b.codes(kBits2);
      break;
    case DType::kIQ4_XS:
      b.super_scales(false, kSubBytes32);
      b.codes(kNibbles);
      break;
    case DType::kMXFP4:
      b.layout.scales = b.section(kGroupRows * n_blocks);
      b.codes(kNibbles);
      break;
    case DType::kI4Group:
    case DType::kI8Group:
      b.layout.scales = b.section(kGroupRows * 4 * n_blocks);
      b.layout.zeros = b.section(kGroupRows * n_blocks);
      b.codes(type == DType::kI4Group ? kNibbles : kBytes);
      break;
    case DType::kBF16:
      b.codes(kBytes * 2);
      break;
    default:  // kF32
      b.codes(kBytes * 4);
      break;
  }
  return b.layout;
}

bool is_packed_type(DType type) {
  switch (type) {
    case DType::kF16:
    case DType::kF8_E4M3:
    case DType::kF8_E5M2:
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
    case DType::kF64:
    case DType::kU8:
      return false;
    default:
      return true;
  }
}

DType packed_type_of(DType type, bool as_f32) {
  if (as_f32) {
    return DType::kF32;
  }
  const bool is_short_float =
      type == DType::kF16 || type == DType::kF8_E4M3 || type == DType::kF8_E5M2;
  return is_short_float ? DType::kBF16 : type;
}

int64_t group_bytes(DType type, int64_t n_cols) {
  const int64_t n_blocks = (n_cols + kBlockK - 1) / kBlockK;
  constexpr int kTileBlocks = kTileK / kBlockK;
  const int64_t n_full = n_blocks / kTileBlocks;
  const auto n_rest = static_cast<int>(n_blocks % kTileBlocks);
  const int64_t full = n_full * tile_layout(type, kTileBlocks).bytes;
  return n_rest == 0 ? full : full + tile_layout(type, n_rest).bytes;
}

int64_t packed_bytes(DType type, int64_t n_rows, int64_t n_cols) {
  return (n_rows + kGroupRows - 1) / kGroupRows * group_bytes(type, n_cols);
}

}  // namespace fathom::quant
