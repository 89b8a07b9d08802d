// AVX2 + FMA + F16C: every kernel, on pairs of 8-lane registers.
// Called by kernels/dispatch. Read next: the files of this folder, then lanes/.
#include "kernels/avx2/parts.h"
#include "kernels/sets.h"
#include "kernels/table.h"

namespace fathom::kernels {

void fill_avx2(KernelTable& table) {
  fill_avx2_gemv(table);
  fill_avx2_gemm(table);
  fill_avx2_coarse(table);
  fill_avx2_float_matmul(table);
  fill_avx2_rows(table);
  fill_avx2_attend(table);
}

}  // namespace fathom::kernels
