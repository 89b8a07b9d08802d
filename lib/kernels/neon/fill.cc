// NEON: every kernel, on fours of 4-lane registers.
// Called by kernels/dispatch. Read next: the files of this folder, then lanes/.
#include "kernels/neon/parts.h"
#include "kernels/sets.h"
#include "kernels/table.h"

namespace fathom::kernels {

void fill_neon(KernelTable& table) {
  fill_neon_gemv(table);
  fill_neon_gemm(table);
  fill_neon_float_matmul(table);
  fill_neon_rows(table);
  fill_neon_attend(table);
}

}  // namespace fathom::kernels
