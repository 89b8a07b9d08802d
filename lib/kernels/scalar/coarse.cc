// The arithmetic of `--arithmetic fast`: activations and weights as int8 with one scale per 256 of
// K. The definition; other sets give the same bits.
// Called through KernelTable. Read next: quant/coarse.h, docs/numbers.md ("Fast prompts").
//
// For each output row (lane), activation row and block of 256 k:
//   f = fma(rn(acc * s), d, f),  acc the exact sum of 256 products of re-scaled codes
// f starts at +0 for every segment of 512 k; total = total + f after each segment.
#include "quant/coarse.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/math_constants.h"
#include "kernels/scalar/fill.h"
#include "quant/packed_block.h"

namespace fathom::kernels::scalar {

namespace {

using quant::kBlockK;
using quant::kCoarseK;
using quant::kCoarseStepK;
using quant::kGroupRows;
using quant::PackedRow;

constexpr uint32_t kInfBits = 0x7F800000U;
constexpr auto kSmallestAmax = std::bit_cast<uint32_t>(0x1p-100F);  // a block below it is zero
constexpr int kTileBlocks = kCoarseK / kBlockK;
constexpr int kSegmentTiles = quant::kSegmentK / kCoarseK;

// The larger of two magnitudes as bits: unsigned integers order like them, NaN above Inf.
uint32_t larger(uint32_t bits, float x) {
  const uint32_t own = std::bit_cast<uint32_t>(x) & 0x7FFFFFFFU;
  return own > bits ? own : bits;
}

bool is_usable(uint32_t amax) {
  return amax < kInfBits && amax >= kSmallestAmax;
}

// To the nearest integer, ties to even; |x| < 2^22.
int32_t round_to_int(float x) {
  return static_cast<int32_t>((x + kRoundMagic) - kRoundMagic);
}

// n <= 256 values to codes, `step` apart every 64 of them.
bool quantize_block(const CoarseRowArgs& args, int64_t k, int n) {
  const int64_t block = args.first_block + k / kCoarseK;
  uint32_t amax = 0;
  for (int i = 0; i < n; ++i) {
    amax = larger(amax, args.x[k + i]);
  }
  const bool usable = is_usable(amax);
  const float inverse = usable ? 127.0F / std::bit_cast<float>(amax) : 0.0F;
  int32_t sum = 0;
  const int n_padded = (n + kCoarseStepK - 1) / kCoarseStepK * kCoarseStepK;
  for (int i = 0; i < n_padded; ++i) {
    const int64_t step = block * (kCoarseK / kCoarseStepK) + i / kCoarseStepK;
    const int32_t code = usable && i < n ? round_to_int(args.x[k + i] * inverse) : 0;
    args.q[(step * args.n_rows + args.row) * kCoarseStepK + i % kCoarseStepK] =
        static_cast<int8_t>(code);
    sum += code;
  }
  args.d[block * args.n_rows + args.row] = usable ? std::bit_cast<float>(amax) / 127.0F : 0.0F;
  args.sums[block * args.n_rows + args.row] = sum;
  return amax < kInfBits;
}

bool quantize_coarse_row(const CoarseRowArgs& args) noexcept {
  bool is_finite = true;
  for (int64_t k = 0; k < args.n; k += kCoarseK) {
    const int64_t left = args.n - k;
    const int n = left < kCoarseK ? static_cast<int>(left) : kCoarseK;
    is_finite = quantize_block(args, k, n) && is_finite;
  }
  return is_finite;
}

// One row of a tile, re-scaled.
struct CoarseRow {
  int8_t w[kCoarseK] = {};
  float scale = 0.0F;
};

// The value of code 0: value(code) = fma(code, sw, v0).
template <DType kType>
float value_of_zero(const PackedRow& block, int g) {
  return quant::has_min(kType) ? -block.min[g] : block.scale[g] * -static_cast<float>(block.zero);
}

// The re-scaled codes of a scale group, by integers alone: t = code * sw and o = v0 in units of
// scale / 64.
template <DType kType>
void rescale(const PackedRow& block, int g, float inverse, int8_t* w) {
  constexpr quant::CodeRange kRange = quant::code_range(kType);
  constexpr int kFraction = quant::kCoarseFraction;
  const int group_k = quant::group_k_of(kType);
  const int32_t factor =
      round_to_int((block.scale[g] * inverse) * static_cast<float>(1 << (kFraction + kRange.bits)));
  const int32_t offset =
      round_to_int((value_of_zero<kType>(block, g) * inverse) * static_cast<float>(1 << kFraction));
  for (int k = g * group_k; k < (g + 1) * group_k; ++k) {
    const int32_t code = (block.w[k] + block.zero) << (15 - kRange.bits);
    const int32_t t = (code * factor + (1 << 14)) >> 15;
    w[k] = static_cast<int8_t>((t + offset + (1 << (kFraction - 1))) >> kFraction);
  }
}

// Row r of a tile. The scale comes from the ends of the codes' range, not from the codes that
// occur.
template <DType kType>
CoarseRow read_row(const std::byte* tile, int n_blocks, int r) {
  constexpr quant::CodeRange kRange = quant::code_range(kType);
  const int n_groups = kBlockK / quant::group_k_of(kType);
  PackedRow blocks[kTileBlocks];
  uint32_t amax = 0;
  for (int b = 0; b < n_blocks; ++b) {
    blocks[b] = quant::read_packed_row({kType, tile, quant::tile_layout(kType, n_blocks), r}, b);
    for (int g = 0; g < n_groups; ++g) {
      const float v0 = value_of_zero<kType>(blocks[b], g);
      amax = larger(amax, std::fma(static_cast<float>(kRange.low), blocks[b].scale[g], v0));
      amax = larger(amax, std::fma(static_cast<float>(kRange.high), blocks[b].scale[g], v0));
    }
  }
  CoarseRow row;
  if (amax >= kInfBits) {  // MXFP4 reaches beyond f32: every product is NaN
    row.scale = std::bit_cast<float>(amax);
  } else if (is_usable(amax)) {
    row.scale = std::bit_cast<float>(amax) / 127.0F;
    const float inverse = 127.0F / std::bit_cast<float>(amax);
    for (int b = 0; b < n_blocks; ++b) {
      for (int g = 0; g < n_groups; ++g) {
        rescale<kType>(blocks[b], g, inverse, row.w + ptrdiff_t{b} * kBlockK);
      }
    }
  }
  return row;
}

// The exact sum over block `c` of row `m`.
int32_t dot(const CoarseRow& w, const RowsView& rows, int64_t c, int64_t m, int n_steps) {
  int32_t sum = 0;
  for (int s = 0; s < n_steps; ++s) {
    const int64_t step = c * (kCoarseK / kCoarseStepK) + s;
    const int8_t* q = rows.coarse_q + (step * rows.n_rows + m) * kCoarseStepK;
    for (int k = 0; k < kCoarseStepK; ++k) {
      sum += static_cast<int32_t>(w.w[s * kCoarseStepK + k]) * static_cast<int32_t>(q[k]);
    }
  }
  return sum;
}

// One output row: every activation row of the call.
template <DType kType>
void multiply_lane(const MatmulArgs& args, int group, int lane) {
  const int64_t n_blocks = args.n_cols / kBlockK;
  const std::byte* tile = args.weights + group * args.group_stride_bytes;
  float* const out = args.out + int64_t{group} * kGroupRows + lane;
  for (int64_t first = 0; first < n_blocks; first += kSegmentTiles * kTileBlocks) {
    CoarseRow w[kSegmentTiles];
    int n_steps[kSegmentTiles] = {};
    for (int i = 0; i < kSegmentTiles; ++i) {
      const int64_t left = n_blocks - first - int64_t{i} * kTileBlocks;
      const int n = left <= 0 ? 0 : left < kTileBlocks ? static_cast<int>(left) : kTileBlocks;
      if (n > 0) {
        w[i] = read_row<kType>(tile, n, lane);
        n_steps[i] = (n * kBlockK + kCoarseStepK - 1) / kCoarseStepK;
        tile += quant::tile_layout(kType, n).bytes;
      }
    }
    for (int64_t m = 0; m < args.n_rows; ++m) {
      float f = 0.0F;
      for (int i = 0; i < kSegmentTiles && n_steps[i] > 0; ++i) {
        const int64_t c = first / kTileBlocks + i;
        const int64_t row = args.first_row + m;
        const int32_t acc = dot(w[i], args.rows, c, row, n_steps[i]);
        f = std::fma(static_cast<float>(acc) * w[i].scale,
                     args.rows.coarse_d[c * args.rows.n_rows + row], f);
      }
      float& total = out[m * args.out_stride];
      total = (first == 0 ? 0.0F : total) + f;
    }
  }
}

template <DType kType>
void matmul_coarse(const MatmulArgs& args) noexcept {
  for (int group = 0; group < args.n_groups; ++group) {
    for (int lane = 0; lane < kGroupRows; ++lane) {
      multiply_lane<kType>(args, group, lane);
    }
  }
}

template <DType... kTypes>
void fill_types(KernelTable* table) {
  ((table->matmul_coarse[static_cast<int>(kTypes)] = matmul_coarse<kTypes>), ...);
}

}  // namespace

void fill_coarse(KernelTable* table) {
  fill_types<DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ8_0, DType::kQ2_K,
             DType::kQ3_K, DType::kQ4_K, DType::kQ5_K, DType::kQ6_K, DType::kIQ4_NL, DType::kIQ4_XS,
             DType::kMXFP4, DType::kI4Group, DType::kI8Group>(table);
  table->quantize_coarse_row = quantize_coarse_row;
}

}  // namespace fathom::kernels::scalar
