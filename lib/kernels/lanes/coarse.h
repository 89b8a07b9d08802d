// Many rows of activations times integer weights re-scaled to int8 per 256 of K: `--arithmetic
// fast`. Called by the coarse.cc of each set. Read next: kernels/scalar/coarse.cc (the definition),
// lanes/many.h (loops), lanes/tile_coarse.h.
//
// A panel of kVectors groups x 512 k is re-scaled once (8 KB a group: L1) and used by every row of
// a chunk. Two codes share a 32-bit word as 16-bit halves, so that one multiplication with rounding
// (vpmulhrsw), one addition and two shifts re-scale 32 of them: about 14 instructions per 64 codes.
// Codes are held unsigned, + 128, unless the Dot wants signed ones; a row's sum takes that off
// again.
#pragma once

#include "kernels/lanes/gemv.h"
#include "kernels/lanes/many.h"
#include "quant/coarse.h"

namespace fathom::kernels {
namespace {

inline constexpr int kCoarseTiles = quant::kSegmentK / quant::kCoarseK;     // of a segment
inline constexpr int kCoarseSteps = quant::kCoarseK / quant::kCoarseStepK;  // of a tile
inline constexpr int kSegmentSteps = kCoarseTiles * kCoarseSteps;           // of 64 k
inline constexpr int kStepVectors = quant::kCoarseStepK / 4;                // 4 k each
inline constexpr int kStepBytes = kStepVectors * 64;                        // of 16 outputs
inline constexpr int kUnitScale = 1 << quant::kCoarseFraction;              // 64
inline constexpr int kUnsignedStart =
    kUnitScale / 2 + quant::kCoarseOffset * kUnitScale;  // rounds, and makes codes unsigned

// One tile (16 rows, nb 32-blocks) re-scaled: codes to out[n] of every step, `kVectors` vectors
// apart; gives the 16 scales.
template <class W, int kVectors, bool kIsSigned>
class Rescaler {
  using L = typename W::L;
  using F = typename L::F;
  using B = typename L::B;
  static constexpr quant::CodeRange kRange = quant::code_range(W::kDType);
  static constexpr int kShift = 15 - kRange.bits;  // the code ends at bit 14 of a half word
  static constexpr int kGroups = W::kGroupsOfBlock;

 public:
  explicit Rescaler(const typename W::Tile& tile) : tile_(tile) {}

  F rescale(int nb, std::byte* out) {
    const F amax = magnitude(nb);
    const F scale = L::div(amax, L::set1(127.0F));
    const F inverse = L::div(L::set1(127.0F), amax);
    is_small_ = L::less(amax, L::set1(0x1p-100F));
    is_finite_ = L::less(amax, L::set1(__builtin_inff()));
    for (int b = 0; b < nb; ++b) {
      block(b, inverse, out + b * 8 * kVectors * 64);
    }
    return L::select(is_small_, L::zero(), scale);
  }

 private:
  // The value of code 0.
  F value_of_zero(int u, F sw) const {
    if constexpr (W::kHasMin) {
      return tile_.scales.offset(u);
    } else if constexpr (W::kConversion == Conversion::kZeros) {
      return L::mul(sw, tile_.scales.minus_zero(u, 0.0F));
    } else {
      return L::mul(sw, L::set1(-static_cast<float>(W::kZero)));
    }
  }

  // The largest value that the codes' range reaches in any scale group.
  F magnitude(int nb) const {
    const auto mask = L::set1_int(INT32_MAX);
    auto largest = L::set1_int(0);
    for (int u = 0; u < nb * kGroups; ++u) {
      const F sw = tile_.scales.scale(u);
      const F v0 = value_of_zero(u, sw);
      for (const int code : {kRange.low, kRange.high}) {
        const F value = L::fma(L::set1(static_cast<float>(code)), sw, v0);
        largest = L::max_unsigned(largest, L::and_int(L::bits(value), mask));
      }
    }
    return L::from_bits(largest);
  }

  // 16 numbers, each twice in its 32-bit lane; 0 where the whole row is zero.
  B twice(F value) const {
    const F kept = L::select(is_finite_, L::select(is_small_, L::zero(), value), L::zero());
    const auto number = L::to_int(kept);
    const auto low = L::and_int(number, L::set1_int(0xFFFF));
    alignas(64) std::byte words[64];
    L::store_int(words, L::or_int(low, L::template shl<16>(low)));
    return L::load_bytes(words);
  }

  void block(int b, F inverse, std::byte* out) const {
    B factor[kGroups];
    B offset[kGroups];
    for (int g = 0; g < kGroups; ++g) {
      const int u = b * kGroups + g;
      const F sw = tile_.scales.scale(u);
      constexpr auto kFactorUnit = static_cast<float>(kUnitScale << kRange.bits);
      factor[g] = twice(L::mul(L::mul(sw, inverse), L::set1(kFactorUnit)));
      const F v0 = L::mul(value_of_zero(u, sw), inverse);
      offset[g] = L::add_words(twice(L::mul(v0, L::set1(static_cast<float>(kUnitScale)))),
                               L::set1_word(kUnsignedStart));
    }
    unroll<4>([&](auto step) __attribute__((always_inline)) {
      constexpr int kV = decltype(step)::value;
      B lo;
      B hi;
      tile_.codes.template pair<kV>(b, lo, hi);
      L::store_bytes(out + kV * kVectors * 64, codes(lo, factor[0], offset[0]));
      L::store_bytes(out + (kV + 4) * kVectors * 64,
                     codes(hi, factor[kGroups - 1], offset[kGroups - 1]));
    });
  }

  [[gnu::always_inline]] static B codes(B code, B factor, B offset) {
    const B field = L::set1_word(((1 << kRange.bits) - 1) << kShift);
    const B even = L::and_bytes(L::template shift<kShift>(code), field);
    const B odd = L::and_bytes(L::template shift<kShift - 8>(code), field);
    const B t0 = L::add_words(L::mul_words(even, factor), offset);
    const B t1 = L::add_words(L::mul_words(odd, factor), offset);
    constexpr int kFraction = quant::kCoarseFraction;
    const B both = L::or_masked(L::template shift<-kFraction>(t0),
                                L::template shift<8 - kFraction>(t1), L::set1_word(0xFF00));
    if constexpr (kIsSigned) {
      return L::xor_bytes(both, L::set1_byte(0x80));
    } else {
      return both;
    }
  }

  const typename W::Tile& tile_;
  typename L::M is_small_{};
  typename L::M is_finite_{};
};

// A re-scaled panel times rows: nothing here depends on the weight type.
template <class Lanes, class Dot, int kWidth, int kBlockRows>
class CoarseProduct {
 public:
  using L = Lanes;
  using F = typename L::F;
  static constexpr int kVectors = kWidth;
  static constexpr int kRows = kBlockRows;
  static constexpr int kChunk = kChunkRows;

 private:
  static constexpr int kScales = kSegmentSteps * kStepBytes * kVectors;  // after the codes
  static constexpr int kStarts = kScales + kCoarseTiles * kVectors * 64;

 public:
  static constexpr int kScratchUsed = kStarts + kCoarseTiles * kChunk * 4;

  explicit CoarseProduct(const MatmulArgs& a)
      : a_(a),
        codes_(a.scratch),
        scales_(reinterpret_cast<float*>(a.scratch + kScales)),
        starts_(reinterpret_cast<int32_t*>(a.scratch + kStarts)) {}

  // Sums of the segment for rows m .. m + kR - 1 of the chunk.
  template <int kR>
  [[gnu::always_inline]] void multiply(int m, F (&f)[kVectors][kR]) const noexcept {
    for (int i = 0; i < n_tiles(); ++i) {
      Dot dots[kVectors][kR];
      for (int r = 0; r < kR; ++r) {
        for (int n = 0; n < kVectors; ++n) {
          dots[n][r].init(starts_[i * kChunk + m + r]);
        }
      }
      for (int s = 0; s < steps_of(i); ++s) {
        const std::byte* codes = codes_at(i * kCoarseSteps + s, 0);
        const int8_t* q = rows_at(i * kCoarseSteps + s, m);
        unroll<kStepVectors>([&](auto step) __attribute__((always_inline)) {
          constexpr int kV = decltype(step)::value;
          typename L::B w[kVectors];
          for (int n = 0; n < kVectors; ++n) {
            w[n] = L::load_bytes(codes + (kV * kVectors + n) * 64);
          }
          for (int r = 0; r < kR; ++r) {
            const auto x = L::set1_quad(q + r * quant::kCoarseStepK + 4 * kV);
            for (int n = 0; n < kVectors; ++n) {
              dots[n][r].add(w[n], x);
            }
          }
        });
      }
      for (int n = 0; n < kVectors; ++n) {
        for (int r = 0; r < kR; ++r) {
          f[n][r] = add_term(i, n, m + r, dots[n][r].finish(), f[n][r]);
        }
      }
    }
  }

  // For lanes/tile_coarse.h.
  int n_tiles() const { return (n_blocks_ + kTileBlocks - 1) / kTileBlocks; }

  // Steps of 64 k in tile i of the segment.
  int steps_of(int i) const {
    const int left = n_blocks_ - i * kTileBlocks;
    return left >= kTileBlocks ? kCoarseSteps : (left + 1) / 2;
  }

  // Step s of the segment: rows m .. of the chunk, 64 codes each.
  const int8_t* rows_at(int s, int m) const {
    const int64_t step = first_block_ / 2 + s;
    return a_.rows.coarse_q + (step * a_.rows.n_rows + row_ + m) * quant::kCoarseStepK;
  }

  // Vector n of step s: 16 vectors of 4 k, kVectors apart.
  const std::byte* codes_at(int s, int n) const {
    return codes_ + (s * kStepVectors * kVectors + n) * 64;
  }

  int32_t start_of(int i, int m) const { return starts_[i * kChunk + m]; }

  // f and the term of tile i of the segment, from the bits of S = 12582912 + acc.
  [[gnu::always_inline]] F add_term(int i, int n, int m, typename L::I s, F f) const {
    const float d = a_.rows.coarse_d[(first_block_ / kTileBlocks + i) * a_.rows.n_rows + row_ + m];
    const F acc = L::sub(L::from_bits(s), L::set1(kMagic));
    return L::fma(L::mul(acc, L::load(scales_ + (i * kVectors + n) * 16)), L::set1(d), f);
  }

 protected:
  const MatmulArgs& a_;
  std::byte* codes_;  // [segment's steps][16][kVectors][64]
  float* scales_;     // [tiles][kVectors][16]
  int32_t* starts_;   // [tiles][kChunk]
  int64_t row_ = 0;
  int first_block_ = 0;
  int n_blocks_ = 0;
};

// What depends on the type: re-scaling its tiles into the panel.
template <class W, class Dot, int kWidth, int kBlockRows>
class CoarseGemm : public CoarseProduct<typename W::L, Dot, kWidth, kBlockRows> {
 public:
  using Product = CoarseProduct<typename W::L, Dot, kWidth, kBlockRows>;
  using Product::kChunk;
  using Product::kVectors;
  using typename Product::L;

  explicit CoarseGemm(const MatmulArgs& a) : Product(a) {}

  void begin_segment(int64_t first_row, int n_rows, int first_block, int n_blocks) noexcept {
    constexpr int kOffset = Dot::kIsSigned ? 0 : quant::kCoarseOffset;
    row_ = first_row;
    first_block_ = first_block;
    n_blocks_ = n_blocks;
    for (int i = 0; i < Product::n_tiles(); ++i) {
      const int64_t at = (first_block / kTileBlocks + i) * a_.rows.n_rows + first_row;
      for (int m = 0; m < n_rows; ++m) {
        starts_[i * kChunk + m] = kMagicBits - kOffset * a_.rows.coarse_sums[at + m];
      }
    }
  }

  // Re-scales the segment of kVectors groups; beyond the call's last group that one is repeated.
  void load_panel(int first_group) noexcept {
    for (int n = 0; n < kVectors; ++n) {
      const int g = first_group + n < a_.n_groups ? first_group + n : a_.n_groups - 1;
      const std::byte* tile =
          a_.weights + g * a_.group_stride_bytes +
          static_cast<int64_t>(first_block_ / kTileBlocks) * W::tile_bytes(kTileBlocks);
      for (int b = 0; b < n_blocks_; b += kTileBlocks) {
        const int nb = n_blocks_ - b < kTileBlocks ? n_blocks_ - b : kTileBlocks;
        std::byte* const out = codes_ + (b * 8 * kVectors + n) * 64;
        const typename W::Tile opened(tile, nb);
        const auto scales = Rescaler<W, kVectors, Dot::kIsSigned>(opened).rescale(nb, out);
        L::store(scales_ + (b / kTileBlocks * kVectors + n) * 16, scales);
        for (int v = nb * 8; v < (nb + 1) / 2 * kStepVectors; ++v) {  // a step's second half
          L::store_bytes(out + v * kVectors * 64, L::set1_byte(0));
        }
        tile += W::tile_bytes(nb);
      }
    }
  }

 protected:
  using Product::a_;
  using Product::codes_;
  using Product::first_block_;
  using Product::n_blocks_;
  using Product::row_;
  using Product::scales_;
  using Product::starts_;
};

template <class W, class Dot>
void coarse(const MatmulArgs& a) noexcept {
  CoarseGemm<W, Dot, W::L::kVectors, Dot::kRows> gemm(a);
  run_many(gemm, a);
}

// Row `a.row` of the coarse form.
template <class L>
bool quantize_coarse_block(const CoarseRowArgs& a, int64_t k, int n) noexcept {
  constexpr uint32_t kInf = 0x7F800000U;
  constexpr uint32_t kSmallest = 27U << 23;  // 2^-100
  const auto mask = L::set1_int(INT32_MAX);
  const auto part = [&](int at) {
    const int left = n - at;
    return left >= 16 ? L::load(a.x + k + at)
           : left > 0 ? L::load_n(a.x + k + at, left)
                      : L::zero();
  };
  auto largest = L::set1_int(0);
  for (int at = 0; at < n; at += 16) {
    largest = L::max_unsigned(largest, L::and_int(L::bits(part(at)), mask));
  }
  const uint32_t bits = L::lane_max_unsigned(largest);
  const bool usable = bits >= kSmallest && bits < kInf;
  float amax;
  __builtin_memcpy(&amax, &bits, sizeof amax);
  const int64_t block = a.first_block + k / quant::kCoarseK;
  const auto inverse = L::set1(usable ? 127.0F / amax : 0.0F);
  int32_t sum = 0;
  for (int at = 0; at < n; at += quant::kCoarseStepK) {
    const int64_t step = block * kCoarseSteps + at / quant::kCoarseStepK;
    int8_t* const q = a.q + (step * a.n_rows + a.row) * quant::kCoarseStepK;
    for (int i = 0; i < quant::kCoarseStepK; i += quant::kBlockK) {
      const auto low = usable ? part(at + i) : L::zero();
      const auto high = usable ? part(at + i + 16) : L::zero();
      int32_t half_sums[2];
      L::store_codes(q + i, L::to_int(L::mul(low, inverse)), L::to_int(L::mul(high, inverse)),
                     half_sums);
      sum += half_sums[0] + half_sums[1];
    }
  }
  a.d[block * a.n_rows + a.row] = usable ? amax / 127.0F : 0.0F;
  a.sums[block * a.n_rows + a.row] = sum;
  return bits < kInf;
}

template <class L>
bool quantize_coarse_row(const CoarseRowArgs& a) noexcept {
  bool is_finite = true;
  for (int64_t k = 0; k < a.n; k += quant::kCoarseK) {
    const int64_t left = a.n - k;
    is_finite = quantize_coarse_block<L>(
                    a, k, left < quant::kCoarseK ? static_cast<int>(left) : quant::kCoarseK) &&
                is_finite;
  }
  return is_finite;
}

}  // namespace
}  // namespace fathom::kernels
