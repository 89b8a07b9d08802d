// AVX2 + FMA + F16C: row-wise kernels.
// Called by avx2/fill.cc. Read next: lanes/rows.h.
#include "kernels/lanes/rows.h"

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/avx2/parts.h"
#include "kernels/lanes/avx2_lanes.h"
#include "kernels/table.h"

namespace fathom::kernels {

void fill_avx2_rows(KernelTable& table) {
  fill_rows<Avx2>(table);
}

}  // namespace fathom::kernels
