// NEON with dot products (Armv8.2-A): the integer products. Everything else is neon's.
// Called by kernels/dispatch. Read next: the files of this folder, then lanes/.
#include "kernels/dotprod/parts.h"
#include "kernels/sets.h"
#include "kernels/table.h"

namespace fathom::kernels {

void fill_dotprod(KernelTable& table) {
  fill_dotprod_gemv(table);
  fill_dotprod_gemm(table);
}

}  // namespace fathom::kernels
