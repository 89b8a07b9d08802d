// The parts of the i8mm set, one function per file of this folder.
// Called by i8mm/fill.cc. Read next: kernels/sets.h.
#pragma once

#include "kernels/table.h"

namespace fathom::kernels {

void fill_i8mm_gemm(KernelTable& table);

}  // namespace fathom::kernels
