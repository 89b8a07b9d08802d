// Rows of packed weights times rows of activations: the definition of every matrix product.
// Called through KernelTable. Read next: quant/packed_block.cc, docs/numbers.md ("Matrix
// products").
//
// For each output row (lane) and activation row, K in order:
//   blocks of codes:  f = fma(rn(acc * sw), da, f);  with a minimum also f = fma(-mw, rn(da * sum),
//   f) BF16:             f = f + (e + o), e and o the fma chains of even and odd k of 32 F32: f =
//   fma(w, x, f)
// f starts at +0 for every segment of 512 k; total = total + f after each segment.
#include <cmath>
#include <cstring>

#include "base/half.h"
#include "kernels/scalar/fill.h"
#include "quant/packed_block.h"

namespace fathom::kernels::scalar {

namespace {

using quant::kBlockK;
using quant::kGroupRows;
using quant::PackedRow;

constexpr int kRowChunk = 16;  // activation rows that share one decoded weight block
constexpr int kTileBlocks = quant::kTileK / kBlockK;
constexpr int kSegmentBlocks = quant::kSegmentK / kBlockK;

// Sums of one weight group (16 lanes) for a chunk of activation rows.
struct Sums {
  float segment[kRowChunk][kGroupRows] = {};
  float total[kRowChunk][kGroupRows] = {};

  void close_segment() {
    for (int m = 0; m < kRowChunk; ++m) {
      for (int lane = 0; lane < kGroupRows; ++lane) {
        total[m][lane] = total[m][lane] + segment[m][lane];
        segment[m][lane] = 0.0F;
      }
    }
  }
};

// Index of (block, activation row) in the arrays of RowsView.
int64_t slot_of(const RowsView& rows, int64_t block, int64_t row) {
  return block * rows.n_rows + row;
}

int32_t dot(const int16_t* w, const int8_t* q, int n) {
  int32_t sum = 0;
  for (int k = 0; k < n; ++k) {
    sum += static_cast<int32_t>(w[k]) * static_cast<int32_t>(q[k]);
  }
  return sum;
}

// One 32-block of codes (16 lanes) times one activation row.
template <DType kType>
void add_code_block(const PackedRow (&w)[kGroupRows], const RowsView& rows, int64_t slot,
                    float* f) {
  const int group_k = quant::group_k_of(kType);
  const int n_groups = kBlockK / group_k;
  const int8_t* q = rows.q + slot * kBlockK;
  const float da = rows.d[slot];
  for (int g = 0; g < n_groups; ++g) {
    const int32_t sum = n_groups == 1 ? rows.sums[slot] : rows.half_sums[slot * 2 + g];
    const float scaled_sum = da * static_cast<float>(sum);
    const ptrdiff_t offset = ptrdiff_t{g} * group_k;
    for (int lane = 0; lane < kGroupRows; ++lane) {
      const int32_t acc = dot(w[lane].w + offset, q + offset, group_k);
      const float scaled = static_cast<float>(acc) * w[lane].scale[g];
      f[lane] = std::fma(scaled, da, f[lane]);
      if (quant::has_min(kType)) {
        f[lane] = std::fma(-w[lane].min[g], scaled_sum, f[lane]);
      }
    }
  }
}

// block: bf16 [16 pairs][16 lanes][2]
void add_bf16_block(const std::byte* block, const RowsView& rows, int64_t slot, float* f) {
  const float* x = rows.bf16 + slot * kBlockK;
  uint16_t w[kBlockK / 2][kGroupRows][2];
  std::memcpy(w, block, sizeof w);
  for (int lane = 0; lane < kGroupRows; ++lane) {
    float even = 0.0F;
    float odd = 0.0F;
    for (int pair = 0; pair < kBlockK / 2; ++pair) {
      even = std::fma(bf16_to_f32(w[pair][lane][0]), x[int64_t{2} * pair], even);
      odd = std::fma(bf16_to_f32(w[pair][lane][1]), x[int64_t{2} * pair + 1], odd);
    }
    f[lane] = f[lane] + (even + odd);
  }
}

// block: f32 [32][16 lanes]
void add_f32_block(const std::byte* block, const RowsView& rows, int64_t slot, float* f) {
  const float* x = rows.f32 + slot * kBlockK;
  float w[kBlockK][kGroupRows];
  std::memcpy(w, block, sizeof w);
  for (int k = 0; k < kBlockK; ++k) {
    for (int lane = 0; lane < kGroupRows; ++lane) {
      f[lane] = std::fma(w[k][lane], x[k], f[lane]);
    }
  }
}

// A packed tile of 16 rows and up to kTileBlocks blocks along K.
struct Tile {
  const std::byte* bytes = nullptr;
  int n_blocks = 0;
};

// Block `block` of the matrix, which lies in `tile`, for activation rows [first, first + n).
template <DType kType>
void add_block(const MatmulArgs& args, const Tile& tile, int64_t block, int64_t first, int n,
               Sums* sums) {
  const auto b = static_cast<int>(block % kTileBlocks);
  if constexpr (kType == DType::kBF16 || kType == DType::kF32) {
    constexpr int64_t kBlockBytes = int64_t{kGroupRows} * kBlockK * (kType == DType::kF32 ? 4 : 2);
    for (int m = 0; m < n; ++m) {
      const int64_t slot = slot_of(args.rows, block, first + m);
      const auto add = kType == DType::kF32 ? add_f32_block : add_bf16_block;
      add(tile.bytes + b * kBlockBytes, args.rows, slot, sums->segment[m]);
    }
  } else {
    PackedRow w[kGroupRows];
    for (int lane = 0; lane < kGroupRows; ++lane) {
      w[lane] = quant::read_packed_row(
          {kType, tile.bytes, quant::tile_layout(kType, tile.n_blocks), lane}, b);
    }
    for (int m = 0; m < n; ++m) {
      const int64_t slot = slot_of(args.rows, block, first + m);
      add_code_block<kType>(w, args.rows, slot, sums->segment[m]);
    }
  }
}

template <DType kType>
void multiply_chunk(const MatmulArgs& args, int group, int64_t first, int n) {
  const int64_t n_blocks = (args.n_cols + kBlockK - 1) / kBlockK;
  Tile tile{args.weights + group * args.group_stride_bytes, 0};
  Sums sums;
  for (int64_t block = 0; block < n_blocks; ++block) {
    const int64_t tile_start = block / kTileBlocks * kTileBlocks;
    const int64_t left = n_blocks - tile_start;
    tile.n_blocks = left < kTileBlocks ? static_cast<int>(left) : kTileBlocks;
    add_block<kType>(args, tile, block, args.first_row + first, n, &sums);
    const bool is_last = block + 1 == n_blocks;
    if (is_last || (block + 1) % kSegmentBlocks == 0) {
      sums.close_segment();
    }
    if ((block + 1) % kTileBlocks == 0) {
      tile.bytes += quant::tile_layout(kType, kTileBlocks).bytes;
    }
  }
  for (int m = 0; m < n; ++m) {
    float* out =
        args.out + (first + m) * args.out_stride + static_cast<int64_t>(group) * kGroupRows;
    std::memcpy(out, sums.total[m], sizeof sums.total[m]);
  }
}

template <DType kType>
void matmul(const MatmulArgs& args) noexcept {
  for (int group = 0; group < args.n_groups; ++group) {
    for (int64_t first = 0; first < args.n_rows; first += kRowChunk) {
      const int64_t left = args.n_rows - first;
      multiply_chunk<kType>(args, group, first,
                            left < kRowChunk ? static_cast<int>(left) : kRowChunk);
    }
  }
}

template <DType kType>
void fill_type(KernelTable* table) {
  table->matmul_few[static_cast<int>(kType)] = matmul<kType>;
  table->matmul_many[static_cast<int>(kType)] = matmul<kType>;
}

}  // namespace

void fill_matmul(KernelTable* table) {
  fill_type<DType::kF32>(table);
  fill_type<DType::kBF16>(table);
  fill_type<DType::kQ4_0>(table);
  fill_type<DType::kQ4_1>(table);
  fill_type<DType::kQ5_0>(table);
  fill_type<DType::kQ5_1>(table);
  fill_type<DType::kQ8_0>(table);
  fill_type<DType::kQ2_K>(table);
  fill_type<DType::kQ3_K>(table);
  fill_type<DType::kQ4_K>(table);
  fill_type<DType::kQ5_K>(table);
  fill_type<DType::kQ6_K>(table);
  fill_type<DType::kIQ4_NL>(table);
  fill_type<DType::kIQ4_XS>(table);
  fill_type<DType::kMXFP4>(table);
  fill_type<DType::kI4Group>(table);
  fill_type<DType::kI8Group>(table);
}

}  // namespace fathom::kernels::scalar
