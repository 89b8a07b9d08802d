// AVX-512 VNNI: integer weights times many rows of activations.
// Called by vnni/fill.cc. Read next: lanes/gemm.h, vnni/dot.h.
#include "kernels/lanes/gemm.h"

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/lanes/avx512_lanes.h"
#include "kernels/lanes/weights.h"
#include "kernels/table.h"
#include "kernels/vnni/dot.h"
#include "kernels/vnni/parts.h"

namespace fathom::kernels {

namespace {

template <template <class> class TypeOf>
void fill_type(KernelTable& table) {
  using W = TypeOf<Avx512>;
  table.matmul_many[static_cast<int>(W::kDType)] = many<W, VnniDot<W::kBits>>;
}

}  // namespace

void fill_vnni_gemm(KernelTable& table) {
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
