// The parts of the scalar table, one function per file of this folder.
// Called by scalar/fill.cc. Read next: kernels/table.h.
#pragma once

#include "kernels/table.h"

namespace fathom::kernels::scalar {

void fill_matmul(KernelTable* table);
void fill_coarse(KernelTable* table);
void fill_rows(KernelTable* table);
void fill_attend(KernelTable* table);
void fill_pages(KernelTable* table);

}  // namespace fathom::kernels::scalar
