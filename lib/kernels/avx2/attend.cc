// AVX2 + FMA + F16C: pages and attention.
// Called by avx2/fill.cc. Read next: lanes/attend.h, lanes/pages.h.
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/avx2/parts.h"
#include "kernels/lanes/avx2_lanes.h"
#include "kernels/lanes/pages.h"
#include "kernels/table.h"

namespace fathom::kernels {

void fill_avx2_attend(KernelTable& table) {
  fill_attend<Avx2>(table);
}

}  // namespace fathom::kernels
