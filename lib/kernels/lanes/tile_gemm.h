// Many rows times integer weights through two-dimensional tiles: 16 rows x 32 k times 32 k x 16
// outputs in one instruction. Called by amx/gemm.cc. Read next: lanes/gemm.h, lanes/many.h,
// amx/tiles.h.
//
// A tile step multiplies one scale group of 32 k, so its sums are the exact integers that every
// other set has, and the same term follows. Tiles and vectors cannot exchange registers: a product
// goes through memory. Three things happen in every step, far enough apart that none waits:
//
//   step i:   load rows and codes, multiply into tile i % 4     vectors: add product i - 6 to f
//             store product i - 2 to slot i % 8 of a ring of 8 KB
//
// A walk is: every 16 rows, every vector of the panel, every block of the segment. f, 16 rows of
// 16 outputs, starts with a walk's first block and joins the totals after its last.
#pragma once

#include "kernels/lanes/gemm.h"

namespace fathom::kernels {
namespace {

inline constexpr int kTileRows = 16;
inline constexpr int kTileProducts = kTileRows * 16;

// The layout of tile configuration data (palette 1: eight tiles of at most 16 rows x 64 bytes).
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

static_assert(sizeof(TileConfig) == 64);

// Tiles 0..3: products; 4, 5: 16 rows of activations, 32 k; 6, 7: 32 k (8 steps of 4) of 16
// outputs.
inline TileConfig int8_tiles() {
  TileConfig config;
  for (int i = 0; i < 8; ++i) {
    config.rows[i] = i < 6 ? 16 : 8;
    config.row_bytes[i] = i == 4 || i == 5 ? 32 : 64;
  }
  return config;
}

// Where a walk over (rows, vectors, blocks) stands.
struct TilePlace {
  int m = 0;
  int n = 0;
  int b = 0;

  [[gnu::always_inline]] void next(int n_vectors, int n_blocks) {
    if (++b == n_blocks) {
      b = 0;
      if (++n == n_vectors) {
        n = 0;
        m += kTileRows;
      }
    }
  }
};

inline constexpr int kRingSlots = 8;
inline constexpr int kRingBytes = kRingSlots * kTileProducts * 4;

// The panel's segment times the first n_rows rows of the chunk (a multiple of 16), added to their
// sums at c. Not inlined: types of one kind share it.
template <class Product, class Tiles>
[[gnu::flatten, gnu::noinline]] void add_tile_rows(const Product product, Tiles& tiles, int n_rows,
                                                   bool is_first, int32_t* ring, float* c) {
  using L = typename Product::L;
  constexpr int kVectors = Product::kVectors;
  constexpr int kStoreAfter = 2;
  constexpr int kUseAfter = 6;
  const int n_blocks = product.n_blocks();
  const int n_steps = n_rows / kTileRows * kVectors * n_blocks;
  const auto slot = [ring](int step) { return ring + step % kRingSlots * kTileProducts; };
  TilePlace next;
  TilePlace used;
  typename L::F f[kTileRows];
  for (int from = 0; from < n_steps + kUseAfter; from += 4) {
    unroll<4>([&](auto tile) __attribute__((always_inline)) {
      constexpr int kTile = decltype(tile)::value;
      constexpr int kPair = kTile % 2;
      const int step = from + kTile;
      if (step < n_steps) {
        tiles.template load<4 + kPair>(product.rows_at(next.b, next.m), quant::kBlockK);
        tiles.template load<6 + kPair>(product.codes_at(next.b, next.n), kVectors * 64);
        tiles.template zero<kTile>();
        tiles.template add_int8<kTile, 4 + kPair, 6 + kPair>();
        next.next(kVectors, n_blocks);
      }
      if (step >= kUseAfter && step < n_steps + kUseAfter) {
        if (used.b == 0) {
          unroll<kTileRows>([&](auto row) __attribute__((always_inline)) {
            f[decltype(row)::value] = L::zero();
          });
        }
        product.add_products(used.b, used.n, used.m, slot(step - kUseAfter), f);
        if (used.b + 1 == n_blocks) {
          unroll<kTileRows>([&](auto row) __attribute__((always_inline)) {
            constexpr int kRow = decltype(row)::value;
            add_segment<L>(f[kRow], is_first, c + ((used.m + kRow) * kVectors + used.n) * 16);
          });
        }
        used.next(kVectors, n_blocks);
      }
      if (step >= kStoreAfter && step < n_steps + kStoreAfter) {
        tiles.template store<(kTile + 4 - kStoreAfter) % 4>(slot(step - kStoreAfter), 64);
      }
    });
  }
}

// IntGemm whose rows go through tiles sixteen at a time; the last rows, fewer than sixteen, through
// Dot, which takes unsigned codes as tiles do.
template <class W, class Dot, class Tiles>
class TileGemm : public IntGemm<W, Dot> {
  using Base = IntGemm<W, Dot>;
  static_assert(W::kGroupK == quant::kBlockK && !Dot::kIsSigned);
  static constexpr int kRing = (Base::kScratchUsed + 63) / 64 * 64;

 public:
  static constexpr int kScratchUsed = kRing + kRingBytes;

  // The thread's tiles are in use as long as this lives.
  explicit TileGemm(const MatmulArgs& a)
      : Base(a), has_tiles_(a.n_rows >= kTileRows && tiles_.configure(int8_tiles())) {}

  TileGemm(const TileGemm&) = delete;
  TileGemm& operator=(const TileGemm&) = delete;

  ~TileGemm() {
    if (has_tiles_) {
      tiles_.release();
    }
  }

  // Returns how many rows of the chunk it did.
  int add_tiles(int n_rows, bool is_first, float* c) noexcept {
    const int n_tile_rows = has_tiles_ ? n_rows / kTileRows * kTileRows : 0;
    if (n_tile_rows > 0) {
      add_tile_rows(static_cast<const typename Base::Product&>(*this), tiles_, n_tile_rows,
                    is_first, reinterpret_cast<int32_t*>(Base::a_.scratch + kRing), c);
    }
    return n_tile_rows;
  }

 private:
  Tiles tiles_;
  bool has_tiles_;
};

// For types whose scale groups are 32 k; a step takes as long for 16.
template <class W, class Dot, class Tiles>
void tile_many(const MatmulArgs& a) noexcept {
  run_many<TileGemm<W, Dot, Tiles>>(a);
}

}  // namespace
}  // namespace fathom::kernels
