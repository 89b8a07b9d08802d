// AVX-512 VNNI: integer weights times many rows of activations.
// Called by vnni/fill.cc. Read next: lanes/gemm.h, vnni/dot.h.
#include "kernels/lanes/gemm.h"

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/lanes/avx512_lanes.h"
#include "kernels/lanes/weights.h"
#include "kernels/table.h"
#include "kernels/vnni/dot.h"
#include "kernels/vnni/parts.h"

namespace fathom::kernels {

void fill_vnni_gemm(KernelTable& table) {
  for_each_type<Avx512>([&table](auto tag) {
    using W = typename decltype(tag)::Type;
    table.matmul_many[static_cast<int>(W::kDType)] = many<W, VnniDot<W::kBits>>;
  });
}

}  // namespace fathom::kernels
