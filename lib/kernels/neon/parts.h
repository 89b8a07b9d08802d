// The parts of the neon set, one function per file of this folder.
// Called by neon/fill.cc. Read next: kernels/sets.h.
#pragma once

#include "kernels/table.h"

namespace fathom::kernels {

void fill_neon_gemv(KernelTable& table);
void fill_neon_gemm(KernelTable& table);
void fill_neon_float_matmul(KernelTable& table);
void fill_neon_rows(KernelTable& table);
void fill_neon_attend(KernelTable& table);

}  // namespace fathom::kernels
