// AVX2 + FMA + F16C: BF16 and F32 weights times rows of activations.
// Called by avx2/fill.cc. Read next: lanes/float_matmul.h.
#include "kernels/lanes/float_matmul.h"

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/avx2/parts.h"
#include "kernels/lanes/avx2_lanes.h"
#include "kernels/table.h"

namespace fathom::kernels {

namespace {

template <DType kType>
void fill_type(KernelTable& table) {
  table.matmul_few[static_cast<int>(kType)] = float_few<Avx2, kType>;
  table.matmul_many[static_cast<int>(kType)] = float_many<Avx2, kType>;
}

}  // namespace

void fill_avx2_float_matmul(KernelTable& table) {
  fill_type<DType::kBF16>(table);
  fill_type<DType::kF32>(table);
}

}  // namespace fathom::kernels
