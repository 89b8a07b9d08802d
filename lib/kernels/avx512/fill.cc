// AVX-512 (F, BW, DQ, VL): all but the integer products, which without VNNI stay with avx2.
// Called by kernels/dispatch. Read next: the files of this folder, then lanes/.
#include "kernels/avx512/parts.h"
#include "kernels/sets.h"
#include "kernels/table.h"

namespace fathom::kernels {

void fill_avx512(KernelTable& table) {
  fill_avx512_float_matmul(table);
  fill_avx512_rows(table);
  fill_avx512_attend(table);
}

}  // namespace fathom::kernels
