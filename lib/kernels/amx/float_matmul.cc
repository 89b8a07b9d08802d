// AMX: BF16 weights times many rows of activations.
// Called by amx/fill.cc. Read next: lanes/tile_float.h, amx/tiles.h.
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/amx/parts.h"
#include "kernels/amx/tiles.h"
#include "kernels/lanes/avx512_lanes.h"
#include "kernels/lanes/tile_float.h"
#include "kernels/table.h"

namespace fathom::kernels {

void fill_amx_float_matmul(KernelTable& table) {
  table.matmul_many[static_cast<int>(DType::kBF16)] = tile_float_many<Avx512, HardwareTiles>;
}

}  // namespace fathom::kernels
