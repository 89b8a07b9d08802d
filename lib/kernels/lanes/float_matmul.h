// Rows of activations times BF16 or F32 weights, few and many.
// Called by the float_matmul.cc of each set, lanes/attend.h. Read next: lanes/many.h,
// kernels/scalar/matmul.cc.
//
//   BF16, per 32 k: even k and odd k in two fma chains from +0, f = f + (e + o): what AMX computes
//   F32:            f = fma(w, x, f), k rising
// A vector of BF16 weights holds 16 lanes x 2 k: `lane << 16` is even k, `lane & 0xffff0000` odd k.
#pragma once

#include "base/dtype.h"
#include "kernels/lanes/gemv.h"
#include "kernels/lanes/many.h"

namespace fathom::kernels {
namespace {

// Weights of kVectors x 16 lanes: where vector n of step s lies. A step is 2 k (BF16) or 1 k (F32).
struct WeightSteps {
  const std::byte* data;
  int64_t vector_stride;  // bytes
  int64_t step_stride;
};

// chain[n][m] over the even (kOdd = 0) or the odd k of n_pairs pairs.
template <class L, int kOdd, int kVectors, int kRows>
[[gnu::always_inline]] inline void bf16_chain(const WeightSteps& w, const float* const (&x)[kRows],
                                              int n_pairs,
                                              typename L::F (&chain)[kVectors][kRows]) {
  const auto high_half = L::set1_int(static_cast<int32_t>(0xFFFF0000));
  for (int n = 0; n < kVectors; ++n) {
    for (int m = 0; m < kRows; ++m) {
      chain[n][m] = L::zero();
    }
  }
  for (int p = 0; p < n_pairs; ++p) {
    typename L::F v[kVectors];
    for (int n = 0; n < kVectors; ++n) {
      const auto pair = L::load_int(w.data + n * w.vector_stride + p * w.step_stride);
      v[n] = L::from_bits(kOdd == 0 ? L::template shl<16>(pair) : L::and_int(pair, high_half));
    }
    for (int m = 0; m < kRows; ++m) {
      const auto xk = L::set1(x[m][2 * p + kOdd]);
      for (int n = 0; n < kVectors; ++n) {
        chain[n][m] = L::fma(v[n], xk, chain[n][m]);
      }
    }
  }
}

// sum[n][m] = e + o over n_pairs <= 16 pairs; x[m] are the activations of row m. Where the
// registers do not hold both chains of all rows, the even ones run first.
template <class L, int kVectors, int kRows>
[[gnu::always_inline]] inline void bf16_chains(const WeightSteps& w, const float* const (&x)[kRows],
                                               int n_pairs, typename L::F (&sum)[kVectors][kRows]) {
  using F = typename L::F;
  if constexpr (kVectors * kRows > L::kBothChains) {
    F odd_sum[kVectors][kRows];
    bf16_chain<L, 0, kVectors, kRows>(w, x, n_pairs, sum);
    bf16_chain<L, 1, kVectors, kRows>(w, x, n_pairs, odd_sum);
    for (int n = 0; n < kVectors; ++n) {
      for (int m = 0; m < kRows; ++m) {
        sum[n][m] = L::add(sum[n][m], odd_sum[n][m]);
      }
    }
    return;
  }
  const auto high_half = L::set1_int(static_cast<int32_t>(0xFFFF0000));
  F even[kVectors][kRows];
  F odd[kVectors][kRows];
  for (int n = 0; n < kVectors; ++n) {
    for (int m = 0; m < kRows; ++m) {
      even[n][m] = L::zero();
      odd[n][m] = L::zero();
    }
  }
  for (int p = 0; p < n_pairs; ++p) {
    F w_even[kVectors];
    F w_odd[kVectors];
    for (int n = 0; n < kVectors; ++n) {
      const auto pair = L::load_int(w.data + n * w.vector_stride + p * w.step_stride);
      w_even[n] = L::from_bits(L::template shl<16>(pair));
      w_odd[n] = L::from_bits(L::and_int(pair, high_half));
    }
    for (int m = 0; m < kRows; ++m) {
      const F x_even = L::set1(x[m][2 * p]);
      const F x_odd = L::set1(x[m][2 * p + 1]);
      for (int n = 0; n < kVectors; ++n) {
        even[n][m] = L::fma(w_even[n], x_even, even[n][m]);
        odd[n][m] = L::fma(w_odd[n], x_odd, odd[n][m]);
      }
    }
  }
  for (int n = 0; n < kVectors; ++n) {
    for (int m = 0; m < kRows; ++m) {
      sum[n][m] = L::add(even[n][m], odd[n][m]);
    }
  }
}

// f[n][m] = fma(w, x, f[n][m]) over n_steps k.
template <class L, int kVectors, int kRows>
[[gnu::always_inline]] inline void f32_chain(const WeightSteps& w, const float* const (&x)[kRows],
                                             int n_steps, typename L::F (&f)[kVectors][kRows]) {
  for (int k = 0; k < n_steps; ++k) {
    typename L::F v[kVectors];
    for (int n = 0; n < kVectors; ++n) {
      v[n] =
          L::load(reinterpret_cast<const float*>(w.data + n * w.vector_stride + k * w.step_stride));
    }
    for (int m = 0; m < kRows; ++m) {
      const auto xk = L::set1(x[m][k]);
      for (int n = 0; n < kVectors; ++n) {
        f[n][m] = L::fma(v[n], xk, f[n][m]);
      }
    }
  }
}

// A 32-block of kType added to f by its rule.
template <class L, DType kType, int kVectors, int kRows>
[[gnu::always_inline]] inline void add_float_block(const WeightSteps& w,
                                                   const float* const (&x)[kRows],
                                                   typename L::F (&f)[kVectors][kRows]) {
  if constexpr (kType == DType::kBF16) {
    typename L::F sum[kVectors][kRows];
    bf16_chains<L, kVectors, kRows>(w, x, quant::kBlockK / 2, sum);
    for (int n = 0; n < kVectors; ++n) {
      for (int m = 0; m < kRows; ++m) {
        f[n][m] = L::add(f[n][m], sum[n][m]);
      }
    }
  } else {
    f32_chain<L, kVectors, kRows>(w, x, quant::kBlockK, f);
  }
}

template <DType kType>
inline constexpr int kFloatBlockBytes = 16 * quant::kBlockK*(kType == DType::kBF16 ? 2 : 4);

template <DType kType>
inline const float* floats_of(const RowsView& rows) {
  return kType == DType::kBF16 ? rows.bf16 : rows.f32;
}

// Decode: kGroups streams, as lanes/gemv.h. BF16: load, shift, and, 2 fma per 32 weights and row.
template <class L, DType kType, int kGroups, int kRows>
[[gnu::flatten, gnu::noinline]] void float_few_rows(const MatmulArgs& a, int first_group) noexcept {
  using F = typename L::F;
  constexpr int kBytes = kFloatBlockBytes<kType>;
  const std::byte* const base = a.weights + first_group * a.group_stride_bytes;
  const auto n_blocks = static_cast<int>((a.n_cols + quant::kBlockK - 1) / quant::kBlockK);
  const int64_t group_bytes = static_cast<int64_t>(n_blocks) * kBytes;
  F total[kGroups][kRows];
  F f[kGroups][kRows];
  for (int g = 0; g < kGroups; ++g) {
    for (int m = 0; m < kRows; ++m) {
      total[g][m] = L::zero();
      f[g][m] = L::zero();
    }
  }
  for (int b = 0; b < n_blocks; ++b) {
    const float* x[kRows];
    for (int m = 0; m < kRows; ++m) {
      x[m] = floats_of<kType>(a.rows) +
             (static_cast<int64_t>(b) * a.rows.n_rows + a.first_row + m) * quant::kBlockK;
    }
    const std::byte* const w = base + static_cast<int64_t>(b) * kBytes;
    int64_t ahead = static_cast<int64_t>(b) * kBytes + kPrefetchAhead;
    ahead += ahead < group_bytes ? 0 : kGroups * a.group_stride_bytes - group_bytes;
    for (int g = 0; g < kGroups; ++g) {
      prefetch_lines(base + g * a.group_stride_bytes + ahead, kBytes);
    }
    add_float_block<L, kType, kGroups, kRows>({w, a.group_stride_bytes, 64}, x, f);
    if (b + 1 == n_blocks || (b + 1) % kSegmentBlocks == 0) {
      for (int g = 0; g < kGroups; ++g) {
        for (int m = 0; m < kRows; ++m) {
          total[g][m] = L::add(total[g][m], f[g][m]);
          f[g][m] = L::zero();
        }
      }
    }
  }
  for (int g = 0; g < kGroups; ++g) {
    for (int m = 0; m < kRows; ++m) {
      L::store(a.out + m * a.out_stride + 16 * (first_group + g), total[g][m]);
    }
  }
}

template <class L, DType kType>
void float_few(const MatmulArgs& a) noexcept {
  with_constant<kFewRows>(static_cast<int>(a.n_rows), [&](auto rows) {
    constexpr int kRows = decltype(rows)::value;
    int g = 0;
    for (; g + 2 <= a.n_groups; g += 2) {
      float_few_rows<L, kType, 2, kRows>(a, g);
    }
    if (g < a.n_groups) {
      float_few_rows<L, kType, 1, kRows>(a, g);
    }
  });
}

// Prefill: the packed weights of a segment are the panel as they lie (32 KB or 64 KB of L2).
template <class Lanes, DType kType>
class FloatGemm {
 public:
  using Product = FloatGemm;
  using L = Lanes;
  using F = typename L::F;
  static constexpr int kVectors = L::kVectors;
  // Both chains of BF16 together: on AVX2 two passes of six rows took a sixth longer.
  static constexpr int kRows = kType == DType::kBF16 ? L::kBothChains / L::kVectors : L::kFloatRows;
  static constexpr int kChunk = kChunkRows;
  static constexpr int kScratchUsed = 0;

  explicit FloatGemm(const MatmulArgs& a) : a_(a) {}

  void begin_segment(int64_t first_row, int /*n_rows*/, int first_block, int n_blocks) {
    row_ = first_row;
    block_ = first_block;
    n_blocks_ = n_blocks;
  }

  void load_panel(int first_group) {
    panel_ = {a_.weights + first_group * a_.group_stride_bytes + block_ * kFloatBlockBytes<kType>,
              first_group + 1 < a_.n_groups ? a_.group_stride_bytes : 0, 64};
  }

  template <int kR>
  [[gnu::always_inline]] void multiply(int m, F (&f)[kVectors][kR]) const {
    const float* x0 =
        floats_of<kType>(a_.rows) + (block_ * a_.rows.n_rows + row_ + m) * quant::kBlockK;
    WeightSteps w = panel_;
    for (int b = 0; b < n_blocks_; ++b) {
      const float* x[kR];
      for (int i = 0; i < kR; ++i) {
        x[i] = x0 + i * quant::kBlockK;
      }
      add_float_block<L, kType, kVectors, kR>(w, x, f);
      w.data += kFloatBlockBytes<kType>;
      x0 += a_.rows.n_rows * quant::kBlockK;
    }
  }

 protected:
  const MatmulArgs& a_;
  WeightSteps panel_ = {};
  int64_t row_ = 0;
  int64_t block_ = 0;
  int n_blocks_ = 0;
};

template <class L, DType kType>
void float_many(const MatmulArgs& a) noexcept {
  FloatGemm<L, kType> gemm(a);
  run_many(gemm, a);
}

}  // namespace
}  // namespace fathom::kernels
