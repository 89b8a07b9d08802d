// The one symbol that each instruction set's object exports: it overwrites the entries it has.
// Called by kernels/dispatch. A set that is not built is not linked: FATHOM_HAVE_<SET> guards the
// call.
#pragma once

#include "kernels/table.h"

namespace fathom::kernels {

void fill_avx2(KernelTable& table);
void fill_avx512(KernelTable& table);
void fill_vnni(KernelTable& table);
void fill_amx(KernelTable& table);
void fill_neon(KernelTable& table);
void fill_dotprod(KernelTable& table);
void fill_i8mm(KernelTable& table);

}  // namespace fathom::kernels
