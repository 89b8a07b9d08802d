// AMX: integer weights times many rows of activations.
// Called by amx/fill.cc. Read next: lanes/tile_gemm.h, amx/tiles.h.
#include "kernels/lanes/gemm.h"

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/amx/parts.h"
#include "kernels/amx/tiles.h"
#include "kernels/lanes/avx512_lanes.h"
#include "kernels/lanes/tile_gemm.h"
#include "kernels/lanes/weights.h"
#include "kernels/table.h"
#include "kernels/vnni/dot.h"

namespace fathom::kernels {

void fill_amx_gemm(KernelTable& table) {
  for_each_type<Avx512>([&table](auto tag) {
    using W = typename decltype(tag)::Type;
    if constexpr (W::kGroupK == quant::kBlockK) {
      table.matmul_many[static_cast<int>(W::kDType)] =
          tile_many<W, VnniDot<W::kBits>, HardwareTiles>;
    }
  });
}

}  // namespace fathom::kernels
