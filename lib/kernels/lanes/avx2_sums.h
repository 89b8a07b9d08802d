// Codes of a block with their sums by AVX2, which every x86 set has.
// Called by lanes/avx2_lanes.h, lanes/avx512_lanes.h. Read next: lanes/rows.h.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace fathom::kernels {
namespace {

// Stores 2 x 16 codes at q and their sums. The sums must not come from memory: a load of 32 bytes
// waits for two stores of 16.
inline void avx2_store_codes(int8_t* q, __m128i low, __m128i high, int32_t* half_sums) {
  const __m256i codes = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(q), codes);
  const __m256i twos = _mm256_maddubs_epi16(_mm256_set1_epi8(1), codes);
  __m256i fours = _mm256_madd_epi16(twos, _mm256_set1_epi16(1));
  fours = _mm256_hadd_epi32(fours, fours);
  fours = _mm256_hadd_epi32(fours, fours);
  half_sums[0] = _mm256_cvtsi256_si32(fours);
  half_sums[1] = _mm_cvtsi128_si32(_mm256_extracti128_si256(fours, 1));
}

}  // namespace
}  // namespace fathom::kernels
