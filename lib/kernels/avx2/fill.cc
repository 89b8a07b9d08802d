// AVX2 + FMA + F16C: every kernel, on pairs of 8-lane registers.
// Called by kernels/dispatch. Read next: lanes/gemv.h, lanes/gemm.h, avx2/dot.h.
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/avx2/dot.h"
#include "kernels/lanes/avx2_lanes.h"
#include "kernels/lanes/float_matmul.h"
#include "kernels/lanes/gemm.h"
#include "kernels/lanes/gemv.h"
#include "kernels/lanes/pages.h"
#include "kernels/lanes/rows.h"
#include "kernels/lanes/weights.h"
#include "kernels/sets.h"
#include "kernels/table.h"

namespace fathom::kernels {

namespace {

template <template <class> class TypeOf>
void fill_type(KernelTable& table) {
  using W = TypeOf<Avx2>;
  table.matmul_few[static_cast<int>(W::kDType)] = few<W, Avx2Dot<W::kBits>>;
  table.matmul_many[static_cast<int>(W::kDType)] = many<W, Avx2Dot<W::kBits>>;
}

template <DType kType>
void fill_float_type(KernelTable& table) {
  table.matmul_few[static_cast<int>(kType)] = float_few<Avx2, kType>;
  table.matmul_many[static_cast<int>(kType)] = float_many<Avx2, kType>;
}

}  // namespace

void fill_avx2(KernelTable& table) {
  fill_rows<Avx2>(table);
  fill_attend<Avx2>(table);
  fill_float_type<DType::kBF16>(table);
  fill_float_type<DType::kF32>(table);
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
