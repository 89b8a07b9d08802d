// Values of one file row of any readable type.
// Called by weights (checks, norms), quant/pack_float.cc, tests. Read next:
// quant/dequantize_legacy.cc.
#include "quant/dequantize.h"

#include <cstring>

#include "base/check.h"
#include "base/half.h"
#include "quant/pack.h"
#include "quant/small_floats.h"

namespace fathom::quant {

namespace {

// File rows need not be aligned: blocks are copied out before they are read.
template <typename Block>
void dequantize_blocks(const std::byte* row, int64_t n_cols, float* out) {
  constexpr bool kIsSuper = sizeof(Block) > sizeof(BlockI8Group);
  constexpr int kValues = kIsSuper ? kSuperValues : kBlockValues;
  FATHOM_CHECK(n_cols % kValues == 0);
  for (int64_t k = 0; k < n_cols; k += kValues) {
    Block block;
    std::memcpy(&block, row, sizeof block);
    dequantize_block(block, out + k);
    row += sizeof block;
  }
}

template <float (*kConvert)(uint16_t)>
void widen(const std::byte* row, int64_t n_cols, float* out) {
  for (int64_t k = 0; k < n_cols; ++k) {
    uint16_t bits = 0;
    std::memcpy(&bits, row + k * 2, sizeof bits);
    out[k] = kConvert(bits);
  }
}

template <float (*kConvert)(uint8_t)>
void widen_bytes(const std::byte* row, int64_t n_cols, float* out) {
  for (int64_t k = 0; k < n_cols; ++k) {
    out[k] = kConvert(std::to_integer<uint8_t>(row[k]));
  }
}

}  // namespace

void dequantize_row(DType type, const std::byte* row, int64_t n_cols, float* out) {
  switch (type) {
    case DType::kF32:
      std::memcpy(out, row, static_cast<size_t>(n_cols) * sizeof(float));
      return;
    case DType::kF16:
      return widen<f16_to_f32>(row, n_cols, out);
    case DType::kBF16:
      return widen<bf16_to_f32>(row, n_cols, out);
    case DType::kQ4_0:
      return dequantize_blocks<BlockQ4_0>(row, n_cols, out);
    case DType::kQ4_1:
      return dequantize_blocks<BlockQ4_1>(row, n_cols, out);
    case DType::kQ5_0:
      return dequantize_blocks<BlockQ5_0>(row, n_cols, out);
    case DType::kQ5_1:
      return dequantize_blocks<BlockQ5_1>(row, n_cols, out);
    case DType::kQ8_0:
      return dequantize_blocks<BlockQ8_0>(row, n_cols, out);
    case DType::kIQ4_NL:
      return dequantize_blocks<BlockIQ4_NL>(row, n_cols, out);
    case DType::kMXFP4:
      return dequantize_blocks<BlockMXFP4>(row, n_cols, out);
    case DType::kI4Group:
      return dequantize_blocks<BlockI4Group>(row, n_cols, out);
    case DType::kI8Group:
      return dequantize_blocks<BlockI8Group>(row, n_cols, out);
    case DType::kF8_E4M3:
      return widen_bytes<f8_e4m3_to_f32>(row, n_cols, out);
    case DType::kF8_E5M2:
      return widen_bytes<f8_e5m2_to_f32>(row, n_cols, out);
    case DType::kQ2_K:
      return dequantize_blocks<BlockQ2_K>(row, n_cols, out);
    case DType::kQ3_K:
      return dequantize_blocks<BlockQ3_K>(row, n_cols, out);
    case DType::kQ4_K:
      return dequantize_blocks<BlockQ4_K>(row, n_cols, out);
    case DType::kQ5_K:
      return dequantize_blocks<BlockQ5_K>(row, n_cols, out);
    case DType::kQ6_K:
      return dequantize_blocks<BlockQ6_K>(row, n_cols, out);
    case DType::kIQ4_XS:
      return dequantize_blocks<BlockIQ4_XS>(row, n_cols, out);
    default:
      FATHOM_CHECK(!"dequantize_row: a type that weights refuses");
  }
}

}  // namespace fathom::quant
