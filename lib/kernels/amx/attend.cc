// AMX: attention over bf16 pages.
// Called by amx/fill.cc. Read next: lanes/tile_attend.h, amx/tiles.h.
#include "kernels/lanes/attend.h"

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/amx/parts.h"
#include "kernels/amx/tiles.h"
#include "kernels/lanes/avx512_lanes.h"
#include "kernels/table.h"

namespace fathom::kernels {

void fill_amx_attend(KernelTable& table) {
  table.attend_span[static_cast<int>(PageType::kBF16)] =
      attend_span<Avx512, PageType::kBF16, HardwareTiles>;
}

}  // namespace fathom::kernels
