// Integer dot product of AVX2: u8 x s8 pairs to int16, exact runs of them, then int32.
// Called by avx2/fill.cc as the Dot of lanes/gemv.h and lanes/gemm.h. Its twin is vnni/dot.h.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/lanes/avx2_lanes.h"

namespace fathom::kernels {
namespace {

// vpmaddubsw saturates at 32767, so what a run of int16 sums may hold decides its length:
//   4-bit codes: 2 * 15 * 127 = 3810 a step, 8 steps = 30480    5-bit: 7874, 4 steps = 31496
//   6-bit: 16002, 2 steps = 32004                               8-bit: one step, see below
// Codes of 8 bits become signed, w = code - 128, and the product is |w| * (sign(w) a): 2 * 128 *
// 127 = 32512.
// (|a| * sign(a) w would not do: -w does not fit for w = -128.)
template <int kBits>
struct Avx2Dot {
  static constexpr bool kIsSigned = kBits == 8;  // the zero point 128 is gone
  static constexpr int kRun = kBits <= 4 ? 8 : kBits == 5 ? 4 : kBits == 6 ? 2 : 1;
  // Rows of lanes/gemm.h: a run that lasts a whole scale group leaves no sum beside it, and 2 x 6
  // of 16 registers hold the runs.
  static constexpr int kRows = kBits <= 4 ? 6 : 3;
  static constexpr bool kFourRows = kBits < 8;  // of lanes/gemv.h: 108 cycles a block, twice two 75
  __m256i run_lo, run_hi;
  __m256i sum_lo, sum_hi;

  static PairI prepare(PairI codes) {
    return kIsSigned ? Avx2::xor_bytes(codes, Avx2::set1_byte(0x80)) : codes;
  }

  void init(int32_t /*start*/) {
    sum_lo = _mm256_setzero_si256();
    sum_hi = _mm256_setzero_si256();
  }

  // `step` is a constant after unrolling.
  void add(int step, PairI w, __m256i a) {
    const __m256i lo = product(w.lo, a);
    const __m256i hi = product(w.hi, a);
    if (step % kRun == 0) {
      if (step > 0) {
        flush();
      }
      run_lo = lo;
      run_hi = hi;
    } else {
      run_lo = _mm256_add_epi16(run_lo, lo);
      run_hi = _mm256_add_epi16(run_hi, hi);
    }
  }

  PairI finish(int32_t start) {
    flush();
    const __m256i first = _mm256_set1_epi32(start);
    return {_mm256_add_epi32(sum_lo, first), _mm256_add_epi32(sum_hi, first)};
  }

 private:
  static __m256i product(__m256i w, __m256i a) {
    return kIsSigned ? _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(a, w))
                     : _mm256_maddubs_epi16(w, a);
  }

  void flush() {
    const __m256i ones = _mm256_set1_epi16(1);
    sum_lo = _mm256_add_epi32(sum_lo, _mm256_madd_epi16(run_lo, ones));
    sum_hi = _mm256_add_epi32(sum_hi, _mm256_madd_epi16(run_hi, ones));
  }
};

}  // namespace
}  // namespace fathom::kernels
