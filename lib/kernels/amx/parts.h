// The parts of the amx set, one function per file of this folder.
// Called by amx/fill.cc. Read next: kernels/sets.h.
#pragma once

#include "kernels/table.h"

namespace fathom::kernels {

void fill_amx_gemm(KernelTable& table);
void fill_amx_coarse(KernelTable& table);
void fill_amx_attend(KernelTable& table);
void fill_amx_float_matmul(KernelTable& table);

}  // namespace fathom::kernels
