// NEON: integer weights times many rows of activations.
// Called by neon/fill.cc. Read next: lanes/gemm.h, neon/dot.h.
#include "kernels/lanes/gemm.h"

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "kernels/lanes/neon_lanes.h"
#include "kernels/lanes/weights.h"
#include "kernels/neon/dot.h"
#include "kernels/neon/parts.h"
#include "kernels/table.h"

namespace fathom::kernels {

void fill_neon_gemm(KernelTable& table) {
  for_each_type<Neon>([&table](auto tag) {
    using W = typename decltype(tag)::Type;
    table.matmul_many[static_cast<int>(W::kDType)] = many<W, NeonDot<W::kBits <= 5 ? 5 : W::kBits>>;
  });
}

}  // namespace fathom::kernels
