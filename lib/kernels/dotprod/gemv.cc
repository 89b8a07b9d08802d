// NEON with dot products: integer weights times few rows of activations.
// Called by dotprod/fill.cc. Read next: lanes/gemv.h, dotprod/dot.h.
#include "kernels/lanes/gemv.h"

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "kernels/dotprod/dot.h"
#include "kernels/dotprod/parts.h"
#include "kernels/lanes/neon_lanes.h"
#include "kernels/lanes/weights.h"
#include "kernels/table.h"

namespace fathom::kernels {

void fill_dotprod_gemv(KernelTable& table) {
  for_each_type<Neon>([&table](auto tag) {
    using W = typename decltype(tag)::Type;
    table.matmul_few[static_cast<int>(W::kDType)] = few<W, DotprodDot<W::kBits <= 6 ? 6 : 8>>;
  });
}

}  // namespace fathom::kernels
