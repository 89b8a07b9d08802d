// Many rows times BF16 weights through two-dimensional tiles: 16 rows x 32 k times 32 k x 16
// outputs in one instruction, in the order of docs/numbers.md. Called by amx/float_matmul.cc. Read
// next: lanes/float_matmul.h, lanes/tile_gemm.h, amx/tiles.h.
//
// A tile product of 32 k adds e + o, two fma chains from +0, to f, as the rule says, so a whole
// segment stays in tiles. It takes subnormals for zero and makes zeros of them, which does not
// show: operands are 0 or at least 2^-50 with 8 bits, so every product and every sum of products is
// a multiple of 2^-114, rounded or not, and f as well.
//
// Rows and weights lie as tiles already. 2 x 2 products take 4 loads.
#pragma once

#include "kernels/lanes/float_matmul.h"
#include "kernels/lanes/tile_gemm.h"

namespace fathom::kernels {
namespace {

// Tiles 0..3: f of two tiles of rows by two vectors; 4, 5: rows; 6, 7: weights, 16 pairs of k.
// FloatGemm whose rows go through tiles sixteen or thirty-two at a time; the last rows, fewer than
// sixteen, as everywhere.
template <class Lanes, class Tiles>
class TileFloatGemm : public FloatGemm<Lanes, DType::kBF16> {
  using Base = FloatGemm<Lanes, DType::kBF16>;
  static_assert(Base::kVectors == 2);

 public:
  using L = Lanes;
  static constexpr int kScratchUsed = 4 * kTileProducts * 4;

  TileFloatGemm(const MatmulArgs& a, Tiles& tiles) : Base(a), tiles_(&tiles) {}

  void add_all_rows(int n_rows, bool is_first, float* c) noexcept {
    const int n_tile_rows = n_rows / kTileRows * kTileRows;
    int m = 0;
    for (; m + 2 * kTileRows <= n_tile_rows; m += 2 * kTileRows) {
      add_rows_of<2>(m, is_first, c);
    }
    if (m < n_tile_rows) {
      add_rows_of<1>(m, is_first, c);
    }
    add_rows_from(*this, n_tile_rows, n_rows, is_first, c);
  }

 private:
  // 16 kM rows from m on, all of the segment.
  template <int kM>
  [[gnu::always_inline]] void add_rows_of(int m, bool is_first, float* c) {
    constexpr int kRowBytes = quant::kBlockK * 2;
    tiles_->template zero<0>();
    tiles_->template zero<1>();
    if constexpr (kM == 2) {
      tiles_->template zero<2>();
      tiles_->template zero<3>();
    }
    const int64_t stride = Base::a_.rows.n_rows;
    const auto* rows = reinterpret_cast<const std::byte*>(Base::a_.rows.halves) +
                       (Base::block_ * stride + Base::row_ + m) * kRowBytes;
    const std::byte* weights = Base::panel_.data;
    for (int b = 0; b < Base::n_blocks_; ++b) {
      tiles_->template load<4>(rows, kRowBytes);
      tiles_->template load<6>(weights, 64);
      tiles_->template load<7>(weights + Base::panel_.vector_stride, 64);
      tiles_->template add_bf16<0, 4, 6>();
      tiles_->template add_bf16<1, 4, 7>();
      if constexpr (kM == 2) {
        tiles_->template load<5>(rows + kTileRows * kRowBytes, kRowBytes);
        tiles_->template add_bf16<2, 5, 6>();
        tiles_->template add_bf16<3, 5, 7>();
      }
      rows += stride * kRowBytes;
      weights += kFloatBlockBytes<DType::kBF16>;
    }
    auto* const sums = reinterpret_cast<float*>(Base::a_.scratch);
    tiles_->template store<0>(sums, 64);
    tiles_->template store<1>(sums + kTileProducts, 64);
    if constexpr (kM == 2) {
      tiles_->template store<2>(sums + 2 * kTileProducts, 64);
      tiles_->template store<3>(sums + 3 * kTileProducts, 64);
    }
    for (int i = 0; i < kM * kTileRows; ++i) {
      const float* const from = sums + i / kTileRows * 2 * kTileProducts + i % kTileRows * 16;
      float* const to = c + (m + i) * 32;
      add_segment<L>(L::load(from), is_first, to);
      add_segment<L>(L::load(from + kTileProducts), is_first, to + 16);
    }
  }

  Tiles* tiles_;
};

template <class L, class Tiles>
void tile_float_many(const MatmulArgs& a) noexcept {
  Tiles tiles;
  if (a.n_rows < kTileRows || a.rows.halves == nullptr || !tiles.configure(whole_tiles())) {
    float_many<L, DType::kBF16>(a);
    return;
  }
  TileFloatGemm<L, Tiles> gemm(a, tiles);
  run_many(gemm, a);
  tiles.release();
}

}  // namespace
}  // namespace fathom::kernels
