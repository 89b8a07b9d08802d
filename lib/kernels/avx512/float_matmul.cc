// AVX-512: BF16 and F32 weights times rows of activations.
// Called by avx512/fill.cc. Read next: lanes/float_matmul.h.
#include "kernels/lanes/float_matmul.h"

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/avx512/parts.h"
#include "kernels/lanes/avx512_lanes.h"
#include "kernels/table.h"

namespace fathom::kernels {

namespace {

template <DType kType>
void fill_type(KernelTable& table) {
  table.matmul_few[static_cast<int>(kType)] = float_few<Avx512, kType>;
  table.matmul_many[static_cast<int>(kType)] = float_many<Avx512, kType>;
}

}  // namespace

void fill_avx512_float_matmul(KernelTable& table) {
  fill_type<DType::kBF16>(table);
  fill_type<DType::kF32>(table);
}

}  // namespace fathom::kernels
