// AVX-512 VNNI: `--arithmetic fast`, re-scaled weights times many rows of activations.
// Called by vnni/fill.cc. Read next: lanes/coarse.h, vnni/coarse_dot.h.
#include "kernels/lanes/coarse.h"

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/lanes/avx512_lanes.h"
#include "kernels/lanes/weights.h"
#include "kernels/table.h"
#include "kernels/vnni/coarse_dot.h"
#include "kernels/vnni/parts.h"

namespace fathom::kernels {

void fill_vnni_coarse(KernelTable& table) {
  for_each_type<Avx512>([&table](auto tag) {
    using W = typename decltype(tag)::Type;
    table.matmul_coarse[static_cast<int>(W::kDType)] = coarse<W, VnniCoarseDot>;
  });
  table.quantize_coarse_row = quantize_coarse_row<Avx512>;
}

}  // namespace fathom::kernels
