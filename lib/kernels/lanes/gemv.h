// One to four rows of activations times integer weights: decode, limited by memory.
// Called by the gemv.cc of each set. Read next: lanes/weights.h, kernels/scalar/matmul.cc.
//
//   S = 0x4B400000 + sum of (code - zero) * q        as a float: 12582912 + the exact sum
//   f = fma(fma(S, sw, -12582912 * sw), da, f)       the inner fma is rn(sum * sw)
//   f = fma(-mw, rn(da * sum q), f)                  types with a minimum
//
// Two groups run side by side: two streams of misses. Every 32-block asks for its share of the
// tile 8 KB ahead, which takes Q4_0 from 55-74 % of the read bandwidth to 80-88 % (PERF: measured
// on Emerald Rapids, 2 threads); at the end of a group the next pair of groups is asked for.
// Instructions per block and group, one row, Q4_0 with VNNI: 4 x (load, and, shift, and, 2 dot)
// + 6 for scales: 0.06 per weight.
#pragma once

#include "kernels/lanes/unroll.h"
#include "kernels/lanes/weights.h"
#include "kernels/table.h"

namespace fathom::kernels {
namespace {

inline constexpr int32_t kMagicBits = 0x4B400000;  // 1.5 * 2^23 as a float's bits
inline constexpr float kMagic = 12582912.0F;
inline constexpr int kPrefetchAhead = 8192;
inline constexpr int kTileBlocks = quant::kTileK / quant::kBlockK;
inline constexpr int kSegmentBlocks = quant::kSegmentK / quant::kBlockK;

// Where the S of scale group h of block b starts for one row: the zero point is folded in.
template <int kZero, int kGroupK>
inline int32_t start_of(const RowsView& rows, int64_t at, int h) {
  if constexpr (kZero == 0) {
    return kMagicBits;
  } else if constexpr (kGroupK == 16) {
    return kMagicBits - kZero * rows.half_sums[2 * at + h];
  } else {
    return kMagicBits - kZero * rows.sums[at];
  }
}

// rn(da * sum of q) of scale group h.
template <int kGroupK>
inline float scaled_sum(const RowsView& rows, int64_t at, int h) {
  if constexpr (kGroupK == 16) {
    return rows.d[at] * static_cast<float>(rows.half_sums[2 * at + h]);
  } else {
    return rows.ds[at];
  }
}

// The third factor of rounded_product, once per scale group.
template <class W, class Dot>
inline typename W::L::F extra_of(const typename W::Tile& tile, int u, typename W::L::F sw) {
  using L = typename W::L;
  if constexpr (W::kConversion == Conversion::kShifted) {
    return L::mul(sw, L::set1(-kMagic));
  } else if constexpr (W::kConversion == Conversion::kZeros) {
    return tile.scales.minus_zero(u, Dot::kIsSigned ? 128.0F : 0.0F);
  } else {
    return L::zero();
  }
}

// rn(acc * sw) from S = 12582912 + acc; for kZeros acc lacks -zero * (sum of q), added here: all
// three numbers are integers below 2^22, so the fma is exact.
template <class L, Conversion kConversion>
inline typename L::F rounded_product(typename L::F s, typename L::F sw, typename L::F extra,
                                     typename L::F q_sum) {
  if constexpr (kConversion == Conversion::kShifted) {
    return L::fma(s, sw, extra);
  } else {
    typename L::F acc = L::sub(s, L::set1(kMagic));
    if constexpr (kConversion == Conversion::kZeros) {
      acc = L::fma(extra, q_sum, acc);
    }
    return L::mul(acc, sw);
  }
}

// W: a type of lanes/weights.h. Dot: VnniDot<bits>, Avx2Dot<bits> or one of Arm.
template <class W, class Dot, int kGroups, int kRows>
class Gemv {
  using L = typename W::L;
  using F = typename L::F;
  using B = typename L::B;
  static constexpr int kZero = Dot::kIsSigned ? 0 : W::kZero;
  static constexpr int kHalves = W::kGroupsOfBlock;

 public:
  // Groups first_group .. + kGroups - 1 of the call.
  [[gnu::flatten, gnu::noinline]] static void run(const MatmulArgs& a, int first_group) noexcept {
    F total[kGroups][kRows];
    const std::byte* base[kGroups];
    for (int g = 0; g < kGroups; ++g) {
      base[g] = a.weights + (first_group + g) * a.group_stride_bytes;
      for (int m = 0; m < kRows; ++m) {
        total[g][m] = L::zero();
      }
    }
    const auto n_blocks = static_cast<int>((a.n_cols + quant::kBlockK - 1) / quant::kBlockK);
    const int64_t group_bytes =
        static_cast<int64_t>(n_blocks / kTileBlocks) * W::tile_bytes(kTileBlocks) +
        (n_blocks % kTileBlocks == 0 ? 0 : W::tile_bytes(n_blocks % kTileBlocks));
    const int64_t next_group = kGroups * a.group_stride_bytes - group_bytes;
    int64_t offset = 0;
    for (int from = 0; from < n_blocks; from += kSegmentBlocks) {
      F f[kGroups][kRows];
      for (int g = 0; g < kGroups; ++g) {
        for (int m = 0; m < kRows; ++m) {
          f[g][m] = L::zero();
        }
      }
      const int to = from + kSegmentBlocks < n_blocks ? from + kSegmentBlocks : n_blocks;
      for (int b = from; b < to; b += kTileBlocks) {
        const int nb = b + kTileBlocks < to ? kTileBlocks : to - b;
        int64_t ahead = offset + kPrefetchAhead;
        ahead += ahead < group_bytes ? 0 : next_group;
        tile(a, base, offset, ahead, b, nb, f);
        offset += W::tile_bytes(nb);
      }
      for (int g = 0; g < kGroups; ++g) {
        for (int m = 0; m < kRows; ++m) {
          total[g][m] = L::add(total[g][m], f[g][m]);
        }
      }
    }
    for (int g = 0; g < kGroups; ++g) {
      for (int m = 0; m < kRows; ++m) {
        L::store(a.out + m * a.out_stride + 16 * (first_group + g), total[g][m]);
      }
    }
  }

 private:
  [[gnu::always_inline]] static void tile(const MatmulArgs& a,
                                          const std::byte* const (&base)[kGroups], int64_t offset,
                                          int64_t ahead, int first_block, int nb,
                                          F (&f)[kGroups][kRows]) {
    // A share of the tile ahead for each block, in lines.
    constexpr int kShare = (W::tile_bytes(kTileBlocks) / 64 + kTileBlocks - 1) / kTileBlocks * 64;
    if constexpr (kGroups == 2) {
      const typename W::Tile t0(base[0] + offset, nb);
      const typename W::Tile t1(base[1] + offset, nb);
      for (int b = 0; b < nb; ++b) {
        prefetch_lines(base[0] + ahead + b * kShare, kShare);
        block(a, t0, first_block + b, b, f[0]);
        prefetch_lines(base[1] + ahead + b * kShare, kShare);
        block(a, t1, first_block + b, b, f[1]);
      }
    } else {
      const typename W::Tile t0(base[0] + offset, nb);
      for (int b = 0; b < nb; ++b) {
        prefetch_lines(base[0] + ahead + b * kShare, kShare);
        block(a, t0, first_block + b, b, f[0]);
      }
    }
  }

  // Block b of the row, block tb of the tile.
  [[gnu::always_inline]] static void block(const MatmulArgs& a, const typename W::Tile& t, int b,
                                           int tb, F (&f)[kRows]) {
    const int64_t at = static_cast<int64_t>(b) * a.rows.n_rows + a.first_row;
    const int8_t* q = a.rows.q + at * quant::kBlockK;
    Dot dot[kHalves][kRows];
    for (int h = 0; h < kHalves; ++h) {
      for (int m = 0; m < kRows; ++m) {
        dot[h][m].init(start_of<kZero, W::kGroupK>(a.rows, at + m, h));
      }
    }
    unroll<4>([&](auto step) {
      constexpr int kV = decltype(step)::value;
      B lo;
      B hi;
      t.codes.template pair<kV>(tb, lo, hi);
      lo = Dot::prepare(lo);
      hi = Dot::prepare(hi);
      constexpr bool kOneSum = kHalves == 1;
      for (int m = 0; m < kRows; ++m) {
        dot[0][m].add(kOneSum ? 2 * kV : kV, lo, L::set1_quad(q + 32 * m + 4 * kV));
        dot[kHalves - 1][m].add(kOneSum ? 2 * kV + 1 : kV, hi,
                                L::set1_quad(q + 32 * m + 16 + 4 * kV));
      }
    });
    for (int h = 0; h < kHalves; ++h) {
      const F sw = t.scales.scale(tb * kHalves + h);
      const F extra = extra_of<W, Dot>(t, tb * kHalves + h, sw);
      for (int m = 0; m < kRows; ++m) {
        const F sum =
            L::from_bits(dot[h][m].finish(start_of<kZero, W::kGroupK>(a.rows, at + m, h)));
        const F q_sum = L::set1(
            W::kConversion == Conversion::kZeros ? static_cast<float>(a.rows.sums[at + m]) : 0.0F);
        f[m] = L::fma(rounded_product<L, W::kConversion>(sum, sw, extra, q_sum),
                      L::set1(a.rows.d[at + m]), f[m]);
        if constexpr (W::kHasMin) {
          f[m] = L::fma(t.scales.offset(tb * kHalves + h),
                        L::set1(scaled_sum<W::kGroupK>(a.rows, at + m, h)), f[m]);
        }
      }
    }
  }
};

// kRows rows: two groups side by side where the registers hold them.
template <class W, class Dot, int kRows>
void few_rows(const MatmulArgs& a) noexcept {
  int g = 0;
  if constexpr (kRows <= W::L::kPairedRows) {
    for (; g + 2 <= a.n_groups; g += 2) {
      Gemv<W, Dot, 2, kRows>::run(a, g);
    }
  }
  for (; g < a.n_groups; ++g) {
    Gemv<W, Dot, 1, kRows>::run(a, g);
  }
}

// Whether the registers hold four rows of a group at once.
template <class Dot>
constexpr bool takes_four_rows() {
  if constexpr (requires { Dot::kFourRows; }) {
    return Dot::kFourRows;
  } else {
    return true;
  }
}

// 1, 2 or 4 rows at once; 3 are 2 and 1: a fourth copy of each type's code would save little.
template <class W, class Dot>
void few(const MatmulArgs& a) noexcept {
  if constexpr (takes_four_rows<Dot>()) {
    if (a.n_rows == 4) {
      few_rows<W, Dot, 4>(a);
      return;
    }
  }
  MatmulArgs rest = a;
  for (; rest.n_rows >= 2; rest.n_rows -= 2) {
    few_rows<W, Dot, 2>(rest);
    rest.first_row += 2;
    rest.out += 2 * a.out_stride;
  }
  if (rest.n_rows == 1) {
    few_rows<W, Dot, 1>(rest);
  }
}

}  // namespace
}  // namespace fathom::kernels
