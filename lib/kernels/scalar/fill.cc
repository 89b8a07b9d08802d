// The scalar table: every entry filled, the definition of the arithmetic.
// Called by kernels/dispatch, tests. Read next: scalar/matmul.cc.
#include "kernels/scalar/fill.h"

#include "kernels/dispatch.h"

namespace fathom::kernels {

KernelTable scalar_table() {
  KernelTable table;
  scalar::fill_matmul(&table);
  scalar::fill_coarse(&table);
  scalar::fill_rows(&table);
  scalar::fill_pages(&table);
  scalar::fill_attend(&table);
  return table;
}

}  // namespace fathom::kernels
