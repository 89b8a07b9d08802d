// AVX2 + FMA + F16C: integer weights times many rows of activations.
// Called by avx2/fill.cc. Read next: lanes/gemm.h, avx2/dot.h.
#include "kernels/lanes/gemm.h"

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/avx2/dot.h"
#include "kernels/avx2/parts.h"
#include "kernels/lanes/avx2_lanes.h"
#include "kernels/lanes/weights.h"
#include "kernels/table.h"

namespace fathom::kernels {

void fill_avx2_gemm(KernelTable& table) {
  for_each_type<Avx2>([&table](auto tag) {
    using W = typename decltype(tag)::Type;
    table.matmul_many[static_cast<int>(W::kDType)] = many<W, Avx2Dot<W::kBits <= 4 ? 4 : W::kBits>>;
  });
}

}  // namespace fathom::kernels
