// The parts of the avx512 set, one function per file of this folder.
// Called by avx512/fill.cc. Read next: kernels/sets.h.
#pragma once

#include "kernels/table.h"

namespace fathom::kernels {

void fill_avx512_float_matmul(KernelTable& table);
void fill_avx512_rows(KernelTable& table);
void fill_avx512_attend(KernelTable& table);

}  // namespace fathom::kernels
