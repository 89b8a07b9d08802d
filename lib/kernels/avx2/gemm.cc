// AVX2 + FMA + F16C: integer weights times many rows of activations.
// Called by avx2/fill.cc. Read next: lanes/gemm.h, avx2/dot.h.
#include "kernels/lanes/gemm.h"

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/avx2/dot.h"
#include "kernels/avx2/parts.h"
#include "kernels/lanes/avx2_lanes.h"
#include "kernels/lanes/weights.h"
#include "kernels/table.h"

namespace fathom::kernels {

namespace {

template <template <class> class TypeOf>
void fill_type(KernelTable& table) {
  using W = TypeOf<Avx2>;
  table.matmul_many[static_cast<int>(W::kDType)] = many<W, Avx2Dot<W::kBits <= 4 ? 4 : W::kBits>>;
}

}  // namespace

void fill_avx2_gemm(KernelTable& table) {
  fill_type<Q4_0>(table);
  fill_type<Q4_1>(table);
  fill_type<Q5_0>(table);
  fill_type<Q5_1>(table);
  fill_type<Q8_0>(table);
  fill_type<Q2_K>(table);
  fill_type<Q3_K>(table);
  fill_type<Q4_K>(table);
  fill_type<Q5_K>(table);
  fill_type<Q6_K>(table);
  fill_type<IQ4_NL>(table);
  fill_type<IQ4_XS>(table);
}

}  // namespace fathom::kernels
