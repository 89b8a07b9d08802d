// AVX2: `--arithmetic fast`, re-scaled weights times many rows of activations.
// Called by avx2/fill.cc. Read next: lanes/coarse.h; its twin is vnni/coarse.cc.
#include "kernels/lanes/coarse.h"

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/avx2/parts.h"
#include "kernels/lanes/avx2_lanes.h"
#include "kernels/lanes/weights.h"
#include "kernels/table.h"

namespace fathom::kernels {

namespace {

// Signed codes, -127..127: |w| * (sign(w) a) in pairs is at most 2 * 127 * 127 = 32258, which
// vpmaddubsw holds.
struct Avx2CoarseDot {
  static constexpr bool kIsSigned = true;
  static constexpr int kRows = 3;
  __m256i lo, hi;

  void init(int32_t start) {
    lo = _mm256_set1_epi32(start);
    hi = lo;
  }

  void add(PairI w, __m256i a) {
    lo = _mm256_add_epi32(lo, product(w.lo, a));
    hi = _mm256_add_epi32(hi, product(w.hi, a));
  }

  PairI finish() const { return {lo, hi}; }

 private:
  static __m256i product(__m256i w, __m256i a) {
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(a, w));
    return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
  }
};

}  // namespace

void fill_avx2_coarse(KernelTable& table) {
  for_each_type<Avx2>([&table](auto tag) {
    using W = typename decltype(tag)::Type;
    table.matmul_coarse[static_cast<int>(W::kDType)] = coarse<W, Avx2CoarseDot>;
  });
  table.quantize_coarse_row = quantize_coarse_row<Avx2>;
}

}  // namespace fathom::kernels
