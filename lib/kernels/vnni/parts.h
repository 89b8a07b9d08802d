// The parts of the vnni set, one function per file of this folder.
// Called by vnni/fill.cc. Read next: kernels/sets.h.
#pragma once

#include "kernels/table.h"

namespace fathom::kernels {

void fill_vnni_gemv(KernelTable& table);
void fill_vnni_gemm(KernelTable& table);
void fill_vnni_coarse(KernelTable& table);

}  // namespace fathom::kernels
