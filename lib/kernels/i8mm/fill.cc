// NEON with int8 matrix products (Armv8.6-A): the integer products of many rows. One row has
// nothing to pair, so few rows stay with dotprod, and everything else with neon. Called by
// kernels/dispatch. Read next: the files of this folder, then lanes/.
#include "kernels/i8mm/parts.h"
#include "kernels/sets.h"
#include "kernels/table.h"

namespace fathom::kernels {

void fill_i8mm(KernelTable& table) {
  fill_i8mm_gemm(table);
}

}  // namespace fathom::kernels
