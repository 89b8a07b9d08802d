// AVX-512 VNNI: the integer products. Everything else of this set is avx512's.
// Called by kernels/dispatch. Read next: the files of this folder, then lanes/.
#include "kernels/sets.h"
#include "kernels/table.h"
#include "kernels/vnni/parts.h"

namespace fathom::kernels {

void fill_vnni(KernelTable& table) {
  fill_vnni_gemv(table);
  fill_vnni_gemm(table);
  fill_vnni_coarse(table);
}

}  // namespace fathom::kernels
