// The parts of the dotprod set, one function per file of this folder.
// Called by dotprod/fill.cc. Read next: kernels/sets.h.
#pragma once

#include "kernels/table.h"

namespace fathom::kernels {

void fill_dotprod_gemv(KernelTable& table);
void fill_dotprod_gemm(KernelTable& table);

}  // namespace fathom::kernels
