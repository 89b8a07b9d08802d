// AVX-512 (F, BW, DQ, VL): float matrix products, rows of activations, attention. Integer products
// without VNNI are no faster than AVX2's and stay there.
// Called by kernels/dispatch. Read next: lanes/float_matmul.h, lanes/rows.h, lanes/attend.h.
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/lanes/avx512_lanes.h"
#include "kernels/lanes/float_matmul.h"
#include "kernels/lanes/pages.h"
#include "kernels/lanes/rows.h"
#include "kernels/sets.h"
#include "kernels/table.h"

namespace fathom::kernels {

namespace {

template <DType kType>
void fill_float_type(KernelTable& table) {
  table.matmul_few[static_cast<int>(kType)] = float_few<Avx512, kType>;
  table.matmul_many[static_cast<int>(kType)] = float_many<Avx512, kType>;
}

}  // namespace

void fill_avx512(KernelTable& table) {
  fill_rows<Avx512>(table);
  fill_attend<Avx512>(table);
  fill_float_type<DType::kBF16>(table);
  fill_float_type<DType::kF32>(table);
}

}  // namespace fathom::kernels
