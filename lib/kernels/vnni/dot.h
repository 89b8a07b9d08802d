// Integer dot product of AVX-512 VNNI: four u8 x s8 products to an int32 lane, never saturating.
// Called by vnni/fill.cc as the Dot of lanes/gemv.h and lanes/gemm.h. Its twin is avx2/dot.h.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace fathom::kernels {
namespace {

// start + sum over steps of codes * activations. `kBits` of the codes does not matter here.
template <int kBits>
struct VnniDot {
  static constexpr bool kIsSigned =
      false;  // codes are used as they are: the caller's start holds -zero * sum
  __m512i sum;

  static __m512i prepare(__m512i codes) { return codes; }

  void init(int32_t start) { sum = _mm512_set1_epi32(start); }

  void add(int /*step*/, __m512i codes, __m512i activations) {
    sum = _mm512_dpbusd_epi32(sum, codes, activations);
  }

  __m512i finish(int32_t /*start*/) const { return sum; }
};

}  // namespace
}  // namespace fathom::kernels
