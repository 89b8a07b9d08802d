// Many rows of activations times integer weights: prefill, limited by arithmetic.
// Called by the gemm.cc of each set. Read next: lanes/gemv.h (the formula), lanes/many.h (loops),
// lanes/dot_block.h.
//
// A panel of kVectors groups x 512 k is widened once to byte codes and f32 scales (16 KB + 6 KB:
// L1) and used by every row of a chunk. The register block, 32 outputs x 6 rows on AVX-512, takes
// per 4 k: 2 loads, 6 broadcasts, 12 dot instructions; per 32 k: 24 fma (36 with a minimum).
#pragma once

#include "kernels/lanes/dot_block.h"
#include "kernels/lanes/gemv.h"
#include "kernels/lanes/many.h"

namespace fathom::kernels {
namespace {

// Rows of a register block: the Dot's own number, where the registers that it takes differ by type.
template <class L, class Dot>
constexpr int rows_of_block() {
  if constexpr (requires { Dot::kRows; }) {
    return Dot::kRows;
  } else {
    return L::kIntRows;
  }
}

// A widened panel times rows: the part that depends on the kind of a type (scale groups of 32 or
// 16, a minimum, a zero point, the conversion), not on the type, so that types of one kind share
// its code.
template <class Lanes, class Dot, int kHalves, bool kHasMin, bool kHasZero, Conversion kConversion>
class PanelProduct {
 public:
  using L = Lanes;
  using F = typename L::F;
  using B = typename L::B;
  static constexpr int kVectors = L::kVectors;
  static constexpr int kRows = rows_of_block<L, Dot>();
  static constexpr int kChunk = kChunkRows;
  static constexpr int kUnits = kSegmentBlocks * kHalves;  // scale groups of a segment
  static constexpr int kSteps = 8 / kHalves;               // 4 k each
  static constexpr bool kHasStarts = kHasZero;
  static constexpr bool kHasZeros = kConversion == Conversion::kZeros;
  // rows.ds is per 32 only; zero points want the sum itself
  static constexpr bool kOwnSums = (kHasMin && kHalves == 2) || kHasZeros;

 private:
  // Sections of the scratch memory.
  static constexpr int kScaleBytes = kUnits * kVectors * 64;
  static constexpr int kScales = kSegmentBlocks * 8 * kVectors * 64;  // after the codes
  static constexpr int kExtras = kScales + kScaleBytes;
  static constexpr int kOffsets = kExtras + kScaleBytes;
  static constexpr int kStarts = kOffsets + (kHasMin ? kScaleBytes : 0);
  static constexpr int kSums = kStarts + (kHasZero ? kUnits * kChunk * 4 : 0);

 public:
  static constexpr int kScratchUsed = kSums + (kOwnSums ? kUnits * kChunk * 4 : 0);

  explicit PanelProduct(const MatmulArgs& a)
      : a_(&a),
        codes_(a.scratch),
        scales_(floats_at(kScales)),
        extras_(floats_at(kExtras)),
        offsets_(floats_at(kOffsets)),
        starts_(reinterpret_cast<int32_t*>(a.scratch + kStarts)),
        sums_(floats_at(kSums)) {}

  // sum[n][m] of the segment for rows m .. m + kR - 1 of the chunk.
  template <int kR>
  [[gnu::always_inline]] void multiply(int m, F (&f)[kVectors][kR]) const noexcept {
    const int64_t n_rows = a_->rows.n_rows;
    const int8_t* q = a_->rows.q + (block_ * n_rows + row_ + m) * quant::kBlockK;
    const float* d = a_->rows.d + block_ * n_rows + row_ + m;
    const float* ds = kOwnSums ? sums_ + m : a_->rows.ds + block_ * n_rows + row_ + m;
    const int32_t* start = starts_ + m;
    const std::byte* codes = codes_;
    for (int b = 0; b < n_blocks_; ++b) {
      for (int h = 0; h < kHalves; ++h) {
        unit<kR>(b * kHalves + h, codes, q + h * 16, start, d, ds, f);
        codes += kSteps * kVectors * 64;
        start += kChunk;
        ds += kOwnSums ? kChunk : 0;
      }
      q += n_rows * quant::kBlockK;
      d += n_rows;
      ds += kOwnSums ? 0 : n_rows;
    }
  }

  // For lanes/tile_gemm.h: block b of the segment, rows m .. of the chunk (32 codes each), vector n
  // of the panel (8 steps of 4 k, kVectors vectors apart).
  const int8_t* rows_at(int b, int m) const {
    return a_->rows.q + ((block_ + b) * a_->rows.n_rows + row_ + m) * quant::kBlockK;
  }

  const std::byte* codes_at(int b, int n) const { return codes_ + (b * 8 * kVectors + n) * 64; }

  int n_blocks() const { return n_blocks_; }

  // From one block to the next, in bytes.
  int64_t rows_stride() const { return a_->rows.n_rows * quant::kBlockK; }

  static constexpr int kCodesStride = 8 * kVectors * 64;

  // This panel times rows that lie elsewhere: row m is row 0 of `args`, the segment its first.
  PanelProduct of_copy(const MatmulArgs& args, int m) const {
    PanelProduct copy = *this;
    copy.a_ = &args;
    copy.row_ = 0;
    copy.block_ = 0;
    copy.sums_ += m;
    return copy;
  }

  // What one block's products become terms with.
  struct Term {
    const float* sw;
    const float* extra;
    const float* offset;
    const float* d;
    const float* ds;
    int64_t d_stride;
    int64_t ds_stride;

    void next() {
      sw += kVectors * 16;
      extra += kVectors * 16;
      offset += kVectors * 16;
      d += d_stride;
      ds += ds_stride;
    }
  };

  // Of block 0, vector n, rows m ..
  Term term_at(int n, int m) const {
    const int64_t stride = a_->rows.n_rows;
    const int64_t slot = block_ * stride + row_ + m;
    return {.sw = scales_ + n * 16,
            .extra = extras_ + n * 16,
            .offset = offsets_ + n * 16,
            .d = a_->rows.d + slot,
            .ds = kOwnSums ? sums_ + m : a_->rows.ds + slot,
            .d_stride = stride,
            .ds_stride = kOwnSums ? kChunk : stride};
  }

  // f[r] and the term of row r, from products [kR][16]: sums of (code - zero) * q.
  template <int kR>
  [[gnu::always_inline]] static void add_products(const Term& term, const int32_t* products,
                                                  F (&f)[kR]) noexcept {
    static_assert(kHalves == 1 && !kHasStarts);
    const F sw = L::load(term.sw);
    const F extra = L::load(term.extra);
    const F offset = kHasMin ? L::load(term.offset) : L::zero();
    const auto magic = L::set1_int(kMagicBits);
    unroll<kR>([&](auto row) __attribute__((always_inline)) {
      constexpr int kRow = decltype(row)::value;
      const auto s = L::add_int(L::load_int(products + 16 * kRow), magic);
      f[kRow] = add_term(s, sw, extra, offset, term.d[kRow], term.ds[kRow], f[kRow]);
    });
  }

 private:
  float* floats_at(int offset) const { return reinterpret_cast<float*>(a_->scratch + offset); }

  // One scale group: kSteps x 4 k.
  template <int kR>
  [[gnu::always_inline]] void unit(int u, const std::byte* codes, const int8_t* q,
                                   const int32_t* start, const float* d, const float* ds,
                                   F (&f)[kVectors][kR]) const noexcept {
    const auto start_of_row = [start](int m) { return kHasZero ? start[m] : kMagicBits; };
    DotBlock<L, Dot, kVectors, kR> dots;
    dots.init(start_of_row);
    dots.template multiply<kSteps>(codes, q);
    for (int n = 0; n < kVectors; ++n) {
      const int at = (u * kVectors + n) * 16;
      const F sw = L::load(scales_ + at);
      const F extra = L::load(extras_ + at);
      const F offset = kHasMin ? L::load(offsets_ + at) : L::zero();
      for (int m = 0; m < kR; ++m) {
        const auto sum = dots.finish(n, m, start_of_row(m));
        f[n][m] = add_term(sum, sw, extra, offset, d[m], ds[m], f[n][m]);
      }
    }
  }

  // f and the term of a scale group from the bits of S.
  [[gnu::always_inline]] static F add_term(typename L::I s, F sw, F extra, F offset, float d,
                                           float ds, F f) noexcept {
    const F q_sum = L::set1(kHasZeros ? ds : 0.0F);
    f = L::fma(rounded_product<L, kConversion>(L::from_bits(s), sw, extra, q_sum), L::set1(d), f);
    if constexpr (kHasMin) {
      f = L::fma(offset, L::set1(ds), f);
    }
    return f;
  }

 protected:
  const MatmulArgs* a_;
  std::byte* codes_;  // [block][8][kVectors][64]
  float* scales_;     // [unit][kVectors][16] sw
  float* extras_;     // [unit][kVectors][16] see rounded_product
  float* offsets_;    // [unit][kVectors][16] -mw
  int32_t* starts_;   // [unit][kChunk]
  float* sums_;       // [unit][kChunk] rn(d * sum of q); kHasZeros: the sum of q
  int64_t row_ = 0;
  int64_t block_ = 0;
  int n_blocks_ = 0;
};

// What depends on the type: widening its tiles into the panel.
template <class W, class Dot>
class IntGemm : public PanelProduct<typename W::L, Dot, W::kGroupsOfBlock, W::kHasMin,
                                    W::kZero != 0 && !Dot::kIsSigned, W::kConversion> {
  static constexpr int kZero = Dot::kIsSigned ? 0 : W::kZero;
  static constexpr int kHalves = W::kGroupsOfBlock;

 public:
  using Product = PanelProduct<typename W::L, Dot, kHalves, W::kHasMin, kZero != 0, W::kConversion>;
  using Product::kChunk;
  using Product::kHasStarts;
  using Product::kHasZeros;
  using Product::kOwnSums;
  using Product::kVectors;
  using typename Product::B;
  using typename Product::F;
  using typename Product::L;

  explicit IntGemm(const MatmulArgs& a) : Product(a) {}

  // Blocks first_block .. + n_blocks - 1 of rows first_row .. + n_rows - 1: S starts and scaled
  // sums.
  void begin_segment(int64_t first_row, int n_rows, int first_block, int n_blocks) noexcept {
    row_ = first_row;
    block_ = first_block;
    n_blocks_ = n_blocks;
    for (int u = 0; u < n_blocks * kHalves; ++u) {
      const int64_t at = (first_block + u / kHalves) * a_->rows.n_rows + first_row;
      for (int m = 0; m < n_rows; ++m) {
        if constexpr (kZero != 0) {
          starts_[u * kChunk + m] = start_of<kZero, W::kGroupK>(a_->rows, at + m, u % kHalves);
        }
        if constexpr (kOwnSums) {
          sums_[u * kChunk + m] = kHasZeros ? static_cast<float>(a_->rows.sums[at + m])
                                            : scaled_sum<W::kGroupK>(a_->rows, at + m, u % kHalves);
        }
      }
    }
  }

  // Widens the segment of kVectors groups; beyond the call's last group that one is repeated.
  void load_panel(int first_group) noexcept {
    for (int n = 0; n < kVectors; ++n) {
      const int g = first_group + n < a_->n_groups ? first_group + n : a_->n_groups - 1;
      const std::byte* tile =
          a_->weights + g * a_->group_stride_bytes +
          static_cast<int64_t>(block_ / kTileBlocks) * W::tile_bytes(kTileBlocks);
      for (int b = 0; b < n_blocks_; b += kTileBlocks) {
        const int nb = n_blocks_ - b < kTileBlocks ? n_blocks_ - b : kTileBlocks;
        widen(tile, nb, b, n);
        tile += W::tile_bytes(nb);
      }
    }
    ask_for_next(first_group + kVectors);
  }

 protected:
  using Product::a_;
  using Product::block_;
  using Product::codes_;
  using Product::extras_;
  using Product::n_blocks_;
  using Product::offsets_;
  using Product::row_;
  using Product::scales_;
  using Product::starts_;
  using Product::sums_;

 private:
  // Prefetches the panel that comes behind this one: of the segment, of the next one, or of the
  // groups that follow the call's.
  void ask_for_next(int group) const noexcept {
    constexpr int kBytes = kSegmentBlocks / kTileBlocks * W::tile_bytes(kTileBlocks);
    int64_t block = block_;
    if (group >= a_->n_groups) {
      block += kSegmentBlocks;
      const bool is_last = block * quant::kBlockK >= a_->n_cols;
      block = is_last ? 0 : block;
      group = is_last ? a_->n_groups : 0;
    }
    for (int n = 0; n < kVectors; ++n) {
      prefetch_lines_l2(a_->weights + (group + n) * a_->group_stride_bytes +
                            block / kTileBlocks * W::tile_bytes(kTileBlocks),
                        kBytes);
    }
  }

  void widen(const std::byte* tile, int nb, int first_block, int n) noexcept {
    const typename W::Tile t(tile, nb);
    for (int b = 0; b < nb; ++b) {
      std::byte* out = codes_ + ((first_block + b) * 8 * kVectors + n) * 64;
      unroll<4>([&](auto step) {
        constexpr int kV = decltype(step)::value;
        B lo;
        B hi;
        t.codes.template pair<kV>(b, lo, hi);
        L::store_bytes(out + kV * kVectors * 64, Dot::prepare(lo));
        L::store_bytes(out + (kV + 4) * kVectors * 64, Dot::prepare(hi));
      });
      if constexpr (requires { Dot::arrange(out); }) {  // lanes/dot_block.h of its own
        static_assert(kVectors == 1);
        Dot::arrange(out);
      }
      for (int h = 0; h < kHalves; ++h) {
        const int at = (((first_block + b) * kHalves + h) * kVectors + n) * 16;
        const F sw = t.scales.scale(b * kHalves + h);
        L::store(scales_ + at, sw);
        L::store(extras_ + at, extra_of<W, Dot>(t, b * kHalves + h, sw));
        if constexpr (W::kHasMin) {
          L::store(offsets_ + at, t.scales.offset(b * kHalves + h));
        }
      }
    }
  }
};

template <class W, class Dot>
void many(const MatmulArgs& a) noexcept {
  IntGemm<W, Dot> gemm(a);
  run_many(gemm, a);
}

}  // namespace
}  // namespace fathom::kernels
