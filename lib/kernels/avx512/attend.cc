// AVX-512: pages and attention.
// Called by avx512/fill.cc. Read next: lanes/attend.h, lanes/pages.h.
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/avx512/parts.h"
#include "kernels/lanes/avx512_lanes.h"
#include "kernels/lanes/pages.h"
#include "kernels/table.h"

namespace fathom::kernels {

void fill_avx512_attend(KernelTable& table) {
  fill_attend<Avx512>(table);
}

}  // namespace fathom::kernels
