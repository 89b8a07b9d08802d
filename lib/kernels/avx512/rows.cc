// AVX-512: row-wise kernels.
// Called by avx512/fill.cc. Read next: lanes/rows.h.
#include "kernels/lanes/rows.h"

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/avx512/parts.h"
#include "kernels/lanes/avx512_lanes.h"
#include "kernels/table.h"

namespace fathom::kernels {

void fill_avx512_rows(KernelTable& table) {
  fill_rows<Avx512>(table);
}

}  // namespace fathom::kernels
