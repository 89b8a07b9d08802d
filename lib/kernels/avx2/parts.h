// The parts of the avx2 set, one function per file of this folder.
// Called by avx2/fill.cc. Read next: kernels/sets.h.
#pragma once

#include "kernels/table.h"

namespace fathom::kernels {

void fill_avx2_gemv(KernelTable& table);
void fill_avx2_gemm(KernelTable& table);
void fill_avx2_coarse(KernelTable& table);
void fill_avx2_float_matmul(KernelTable& table);
void fill_avx2_rows(KernelTable& table);
void fill_avx2_attend(KernelTable& table);

}  // namespace fathom::kernels
