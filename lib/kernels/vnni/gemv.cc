// AVX-512 VNNI: integer weights times few rows of activations.
// Called by vnni/fill.cc. Read next: lanes/gemv.h, vnni/dot.h.
#include "kernels/lanes/gemv.h"

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/lanes/avx512_lanes.h"
#include "kernels/lanes/weights.h"
#include "kernels/table.h"
#include "kernels/vnni/dot.h"
#include "kernels/vnni/parts.h"

namespace fathom::kernels {

void fill_vnni_gemv(KernelTable& table) {
  for_each_type<Avx512>([&table](auto tag) {
    using W = typename decltype(tag)::Type;
    table.matmul_few[static_cast<int>(W::kDType)] = few<W, VnniDot<W::kBits>>;
  });
}

}  // namespace fathom::kernels
