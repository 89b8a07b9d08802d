// Integer dot product of AVX-512 VNNI over re-scaled weights: u8 x s8 to an int32 lane, for 256 k.
// Called by vnni/coarse.cc and amx/coarse.cc as the Dot of lanes/coarse.h. Its twin is vnni/dot.h.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace fathom::kernels {
namespace {

struct VnniCoarseDot {
  static constexpr bool kIsSigned = false;  // codes + 128, as the panel holds them
  static constexpr int kRows = 6;           // of a register block: 2 x 6 sums
  __m512i sum;

  void init(int32_t start) { sum = _mm512_set1_epi32(start); }

  void add(__m512i codes, __m512i activations) {
    sum = _mm512_dpbusd_epi32(sum, codes, activations);
  }

  __m512i finish() const { return sum; }
};

}  // namespace
}  // namespace fathom::kernels
