// NEON with int8 matrix products: integer weights times many rows of activations.
// Called by i8mm/fill.cc. Read next: lanes/gemm.h, i8mm/dot.h.
#include "kernels/lanes/gemm.h"

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "kernels/i8mm/dot.h"
#include "kernels/i8mm/parts.h"
#include "kernels/lanes/weights.h"
#include "kernels/table.h"

namespace fathom::kernels {

void fill_i8mm_gemm(KernelTable& table) {
  for_each_type<I8mmLanes>([&table](auto tag) {
    using W = typename decltype(tag)::Type;
    table.matmul_many[static_cast<int>(W::kDType)] = many<W, I8mmDot<W::kBits <= 6 ? 6 : 8>>;
  });
}

}  // namespace fathom::kernels
