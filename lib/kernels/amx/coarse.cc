// AMX: `--arithmetic fast`, re-scaled weights times many rows of activations.
// Called by amx/fill.cc. Read next: lanes/tile_coarse.h, amx/tiles.h.
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/amx/parts.h"
#include "kernels/amx/tiles.h"
#include "kernels/lanes/avx512_lanes.h"
#include "kernels/lanes/tile_coarse.h"
#include "kernels/lanes/weights.h"
#include "kernels/table.h"
#include "kernels/vnni/coarse_dot.h"

namespace fathom::kernels {

void fill_amx_coarse(KernelTable& table) {
  for_each_type<Avx512>([&table](auto tag) {
    using W = typename decltype(tag)::Type;
    table.matmul_coarse[static_cast<int>(W::kDType)] = tile_coarse<W, VnniCoarseDot, HardwareTiles>;
  });
}

}  // namespace fathom::kernels
