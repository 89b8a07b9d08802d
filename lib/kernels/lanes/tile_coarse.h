// Many rows times re-scaled weights through two-dimensional tiles: 16 rows x 64 k times 64 k x 64
// outputs in four instructions. Called by amx/coarse.cc. Read next: lanes/coarse.h,
// lanes/tile_gemm.h (the exact twin).
//
// One scale holds for 256 k, so a product stays in its tile for four steps: four times the work of
// lanes/tile_gemm.h between two visits to memory, and twice the k in a step. Four products side by
// side (64 outputs) read each row of activations once. While the tiles of 16 rows multiply, vectors
// turn the products of the 16 rows before into sums, from the other half of a ring of 16 KB.
#pragma once

#include "kernels/lanes/coarse.h"
#include "kernels/lanes/tile_gemm.h"

namespace fathom::kernels {
namespace {

inline constexpr int kCoarseWidth = 4;  // products side by side
inline constexpr int kCoarseProducts = kCoarseWidth * kTileProducts;
inline constexpr int kCoarseRingBytes = 2 * kCoarseTiles * kCoarseProducts * 4;

// Tiles 0..3: products; 4, 5: 16 rows of activations, 64 k; 6, 7: 64 k of 16 outputs.
//
// Row r of 16 rows from m on: sums of the segment from its products [tile][vector][16][16].
template <class Product>
[[gnu::always_inline]] inline void add_coarse_row(const Product& product, const int32_t* products,
                                                  int m, int r, bool is_first, float* c) {
  using L = typename Product::L;
  typename L::F f[kCoarseWidth];
  unroll<kCoarseWidth>([&](auto vector) __attribute__((always_inline)) {
    f[decltype(vector)::value] = L::zero();
  });
  for (int i = 0; i < product.n_tiles(); ++i) {
    const auto start = L::set1_int(product.start_of(i, m + r));
    unroll<kCoarseWidth>([&](auto vector) __attribute__((always_inline)) {
      constexpr int kN = decltype(vector)::value;
      const int32_t* at = products + (i * kCoarseWidth + kN) * kTileProducts + 16 * r;
      f[kN] = product.add_term(i, kN, m + r, L::add_int(L::load_int(at), start), f[kN]);
    });
  }
  unroll<kCoarseWidth>([&](auto vector) __attribute__((always_inline)) {
    constexpr int kN = decltype(vector)::value;
    add_segment<L>(f[kN], is_first, c + ((m + r) * kCoarseWidth + kN) * 16);
  });
}

// Step s of the segment for 16 rows from m on, into the products in tiles 0..3.
template <int kPair, class Product, class Tiles>
[[gnu::always_inline]] inline void add_coarse_step(const Product& product, Tiles& tiles, int s,
                                                   int m) {
  constexpr int kRowsTile = 4 + kPair;
  tiles.template load<kRowsTile>(product.rows_at(s, m), quant::kCoarseStepK);
  unroll<kCoarseWidth>([&](auto vector) __attribute__((always_inline)) {
    constexpr int kN = decltype(vector)::value;
    constexpr int kCodesTile = 6 + kN % 2;
    tiles.template load<kCodesTile>(product.codes_at(s, kN), kCoarseWidth * 64);
    tiles.template add_int8_u8<kN, kRowsTile, kCodesTile>();
  });
}

// The panel's segment times the first n_rows rows of the chunk (a multiple of 16), added to their
// sums at c. Not inlined: all types share it.
template <class Product, class Tiles>
[[gnu::flatten, gnu::noinline]] void add_coarse_tile_rows(const Product product, Tiles& tiles,
                                                          int n_rows, bool is_first, int32_t* ring,
                                                          float* c) {
  int n_steps = 0;
  for (int i = 0; i < product.n_tiles(); ++i) {
    n_steps += product.steps_of(i);
  }
  const int rows_per_step = (kTileRows + n_steps - 1) / n_steps;
  for (int m = 0; m < n_rows + kTileRows; m += kTileRows) {
    int32_t* const own = ring + m / kTileRows % 2 * kCoarseTiles * kCoarseProducts;
    const int32_t* const before = ring + (m / kTileRows + 1) % 2 * kCoarseTiles * kCoarseProducts;
    int s = 0;
    int r = m == 0 ? kTileRows : 0;
    for (int i = 0; i < product.n_tiles(); ++i) {
      if (m < n_rows) {
        unroll<kCoarseWidth>([&](auto vector) __attribute__((always_inline)) {
          tiles.template zero<decltype(vector)::value>();
        });
      }
      for (const int end = s + product.steps_of(i); s < end; ++s) {
        if (m < n_rows) {
          if (s % 2 == 0) {
            add_coarse_step<0>(product, tiles, s, m);
          } else {
            add_coarse_step<1>(product, tiles, s, m);
          }
        }
        for (int j = 0; j < rows_per_step && r < kTileRows; ++j, ++r) {
          add_coarse_row(product, before, m - kTileRows, r, is_first, c);
        }
      }
      if (m < n_rows) {
        unroll<kCoarseWidth>([&](auto vector) __attribute__((always_inline)) {
          constexpr int kN = decltype(vector)::value;
          tiles.template store<kN>(own + (i * kCoarseWidth + kN) * kTileProducts, 64);
        });
      }
    }
  }
}

// CoarseGemm whose rows go through tiles sixteen at a time; the last rows, fewer than sixteen,
// through Dot.
template <class W, class Dot, class Tiles>
class TileCoarse : public CoarseGemm<W, Dot, kCoarseWidth, 3> {
  using Base = CoarseGemm<W, Dot, kCoarseWidth, 3>;
  static constexpr int kRing = (Base::kScratchUsed + 63) / 64 * 64;

 public:
  static constexpr int kScratchUsed = kRing + kCoarseRingBytes;

  // Without tiles: null.
  TileCoarse(const MatmulArgs& a, Tiles* tiles) : Base(a), tiles_(tiles) {}

  void add_all_rows(int n_rows, bool is_first, float* c) noexcept {
    const int n_tile_rows = tiles_ == nullptr ? 0 : n_rows / kTileRows * kTileRows;
    if (n_tile_rows > 0) {
      add_coarse_tile_rows(static_cast<const typename Base::Product&>(*this), *tiles_, n_tile_rows,
                           is_first, reinterpret_cast<int32_t*>(Base::a_.scratch + kRing), c);
    }
    add_rows_from(*this, n_tile_rows, n_rows, is_first, c);
  }

 private:
  Tiles* tiles_;
};

template <class W, class Dot, class Tiles>
void tile_coarse(const MatmulArgs& a) noexcept {
  Tiles tiles;
  const bool has_tiles = a.n_rows >= kTileRows && tiles.configure(whole_tiles());
  TileCoarse<W, Dot, Tiles> gemm(a, has_tiles ? &tiles : nullptr);
  run_many(gemm, a);
  if (has_tiles) {
    tiles.release();
  }
}

}  // namespace
}  // namespace fathom::kernels
