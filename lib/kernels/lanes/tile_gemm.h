// Many rows times integer weights through two-dimensional tiles: 16 rows x 32 k times 32 k x 16
// outputs in one instruction. Called by amx/gemm.cc. Read next: lanes/gemm.h, lanes/many.h,
// amx/tiles.h.
//
// A tile step multiplies one scale group of 32 k, so its sums are the exact integers that every
// other set has, and the same term follows. Tiles and vectors cannot exchange registers: a product
// goes through memory, a ring of four. More would be slower: what lies 4 KB from a store still in
// flight has to wait for it. Three things happen in every step, far enough apart that none waits:
//
//   step i:   load rows and codes i + 4, multiply into tile i % 4
//             vectors: add product i to f
//             store product i + 2
//
// A walk is: every 16 rows, every vector of the panel, every block of the segment.
#pragma once

#include <cstring>

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

// All eight of 16 rows x 64 bytes.
inline TileConfig whole_tiles() {
  TileConfig config;
  for (int i = 0; i < 8; ++i) {
    config.rows[i] = 16;
    config.row_bytes[i] = 64;
  }
  return config;
}

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

// Blocks that are multiplied in one go, each into a tile of its own.
inline constexpr int kTileSteps = 4;
inline constexpr int kRingBytes = kTileSteps * kTileProducts * 4;

// Where the tiles stand in the walk over (rows, vectors, blocks): kTileSteps blocks at a time. What
// lies behind the last block or the end of the walk is a block again, multiplied in vain.
template <class Product>
class TileCursor {
 public:
  TileCursor(const Product& product, int n_rows) : product_(&product), n_rows_(n_rows) { place(); }

  // Of the step'th block from here on.
  [[nodiscard]] const int8_t* rows(int step) const { return rows_[step]; }

  [[nodiscard]] const std::byte* codes(int step) const {
    return codes_ + step * Product::kCodesStride;
  }

  [[gnu::always_inline]] void next() {
    b_ += kTileSteps;
    if (b_ + kTileSteps > product_->n_blocks()) {
      turn();
      return;
    }
    unroll<kTileSteps>([&](auto step) __attribute__((always_inline)) {
      rows_[decltype(step)::value] += kTileSteps * product_->rows_stride();
    });
    codes_ += kTileSteps * Product::kCodesStride;
  }

 private:
  [[gnu::noinline]] void turn() {
    if (b_ >= product_->n_blocks()) {
      if (n_ + 1 < Product::kVectors) {
        ++n_;
        b_ = 0;
      } else if (m_ + kTileRows < n_rows_) {
        n_ = 0;
        m_ += kTileRows;
        b_ = 0;
      } else {
        b_ -= kTileSteps;
      }
    }
    place();
  }

  void place() {
    for (int step = 0; step < kTileSteps; ++step) {
      const int last = product_->n_blocks() - 1;
      rows_[step] = product_->rows_at(b_ + step < last ? b_ + step : last, m_);
    }
    codes_ = product_->codes_at(b_, n_);
  }

  const Product* product_;
  int n_rows_;
  int m_ = 0;
  int n_ = 0;
  int b_ = 0;
  const int8_t* rows_[kTileSteps];
  const std::byte* codes_;
};

// The panel's segment times the first n_rows rows (a multiple of 16) of the product, added to their
// sums at c. Not inlined: types of one kind share it.
template <class Product, class Tiles>
[[gnu::flatten, gnu::noinline]] void add_tile_rows(const Product product, Tiles& tiles, int n_rows,
                                                   bool is_first, int32_t* ring, float* c) {
  using L = typename Product::L;
  constexpr int kVectors = Product::kVectors;
  TileCursor<Product> next(product, n_rows);
  const auto multiply = [&](auto step) __attribute__((always_inline)) {
    constexpr int kTile = decltype(step)::value;
    constexpr int kPair = kTile % 2;
    tiles.template load<4 + kPair>(next.rows(kTile), quant::kBlockK);
    tiles.template load<6 + kPair>(next.codes(kTile), kVectors * 64);
    tiles.template zero<kTile>();
    tiles.template add_int8<kTile, 4 + kPair, 6 + kPair>();
  };
  unroll<kTileSteps>([&](auto step) __attribute__((always_inline)) { multiply(step); });
  next.next();
  tiles.template store<0>(ring, 64);
  tiles.template store<1>(ring + kTileProducts, 64);
  for (int m = 0; m < n_rows; m += kTileRows) {
    for (int n = 0; n < kVectors; ++n) {
      typename L::F f[kTileRows];
      unroll<kTileRows>([&](auto row) __attribute__((always_inline)) {
        f[decltype(row)::value] = L::zero();
      });
      auto term = product.term_at(n, m);
      for (int b = 0; b < product.n_blocks(); b += kTileSteps) {
        unroll<kTileSteps>([&](auto step) __attribute__((always_inline)) {
          constexpr int kTile = decltype(step)::value;
          constexpr int kStored = (kTile + 2) % kTileSteps;
          multiply(step);
          if (b + kTile < product.n_blocks()) {
            product.add_products(term, ring + kTile * kTileProducts, f);
            term.next();
          }
          tiles.template store<kStored>(ring + kStored * kTileProducts, 64);
        });
        next.next();
      }
      float* to = c + (m * kVectors + n) * 16;
      unroll<kTileRows>([&](auto row) __attribute__((always_inline)) {
        add_segment<L>(f[decltype(row)::value], is_first,
                       to + decltype(row)::value * kVectors * 16);
      });
    }
  }
}

// What tiles multiply: codes as signed bytes, code - zero where the type has one zero point.
template <class W>
struct TileCodes {
  using L = typename W::L;
  static constexpr bool kIsSigned = W::kZero != 0 || W::kBits == 8;

  static typename L::B prepare(typename L::B codes) {
    return kIsSigned ? L::sub_bytes(codes, L::set1_byte(W::kBits == 8 ? 128 : W::kZero)) : codes;
  }
};

// IntGemm whose rows go through tiles sixteen at a time. The last ones, fewer than sixteen, are
// copied beside rows of zeros.
template <class W, class Tiles>
class TileGemm : public IntGemm<W, TileCodes<W>> {
  using Base = IntGemm<W, TileCodes<W>>;
  static_assert(W::kGroupK == quant::kBlockK);

 public:
  static constexpr int kChunk = 256;

 private:
  static constexpr int kRing = (Base::kScratchUsed + 63) / 64 * 64;
  static constexpr int kTail = kRing + kRingBytes;
  static constexpr int kTailSlots = kSegmentBlocks * kTileRows;
  static_assert(kChunk <= Base::kChunk && kChunk % kTileRows == 0);

 public:
  static constexpr int kScratchUsed = kTail + kTailSlots * (quant::kBlockK + 8);

  TileGemm(const MatmulArgs& a, Tiles& tiles) : Base(a), tiles_(&tiles), tail_args_(a) {
    auto* const q = reinterpret_cast<int8_t*>(a.scratch + kTail);
    auto* const d = reinterpret_cast<float*>(q + kTailSlots * quant::kBlockK);
    tail_args_.rows = {.n_rows = kTileRows, .q = q, .d = d, .ds = d + kTailSlots};
  }

  void begin_segment(int64_t first_row, int n_rows, int first_block, int n_blocks) noexcept {
    Base::begin_segment(first_row, n_rows, first_block, n_blocks);
    const int n_tail = n_rows % kTileRows;
    if (n_tail != 0) {
      copy_tail(n_rows - n_tail, n_tail);
    }
  }

  void add_all_rows(int n_rows, bool is_first, float* c) noexcept {
    auto* const ring = reinterpret_cast<int32_t*>(Base::a_->scratch + kRing);
    const typename Base::Product& product = *this;
    const int n_whole = n_rows / kTileRows * kTileRows;
    if (n_whole != 0) {
      add_tile_rows(product, *tiles_, n_whole, is_first, ring, c);
    }
    if (n_whole != n_rows) {
      add_tile_rows(product.of_copy(tail_args_, n_whole), *tiles_, kTileRows, is_first, ring,
                    c + n_whole * Base::kVectors * 16);
    }
  }

 private:
  // Rows m .. m + n - 1 of the chunk, all blocks of the segment.
  void copy_tail(int m, int n) noexcept {
    const RowsView& to = tail_args_.rows;
    std::memset(Base::a_->scratch + kTail, 0, kTailSlots * (quant::kBlockK + 8));
    for (int b = 0; b < Base::n_blocks_; ++b) {
      const RowsView& from = Base::a_->rows;
      const int64_t at = (Base::block_ + b) * from.n_rows + Base::row_ + m;
      const int slot = b * kTileRows;
      std::memcpy(const_cast<int8_t*>(to.q) + slot * quant::kBlockK, Base::rows_at(b, m),
                  static_cast<size_t>(n) * quant::kBlockK);
      std::memcpy(const_cast<float*>(to.d) + slot, from.d + at, static_cast<size_t>(n) * 4);
      std::memcpy(const_cast<float*>(to.ds) + slot, from.ds + at, static_cast<size_t>(n) * 4);
    }
  }

  Tiles* tiles_;
  MatmulArgs tail_args_;
};

// For types whose scale groups are 32 k; a step takes as long for 16.
template <class W, class Dot, class Tiles>
void tile_many(const MatmulArgs& a) noexcept {
  Tiles tiles;
  if (a.n_rows < kTileRows || !tiles.configure(int8_tiles())) {
    many<W, Dot>(a);
    return;
  }
  TileGemm<W, Tiles> gemm(a, tiles);
  run_many(gemm, a);
  tiles.release();
}

}  // namespace
}  // namespace fathom::kernels
