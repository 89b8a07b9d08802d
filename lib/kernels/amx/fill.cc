// AMX: products of many rows, of integers whose scale groups are 32 k, of BF16, and of re-scaled
// weights; attention of many rows over bf16 pages. Everything else of this set is vnni's. Called by
// kernels/dispatch. Read next: the files of this folder, then lanes/.
#include "kernels/amx/parts.h"
#include "kernels/amx/tiles.h"
#include "kernels/lanes/tile_gemm.h"
#include "kernels/sets.h"
#include "kernels/table.h"

namespace fathom::kernels {

// Nothing is filled where a configuration does not read back as it was written: the kernels would
// then take no tile at all, and the report of entries would not say so.
void fill_amx(KernelTable& table) {
  HardwareTiles tiles;
  for (const TileConfig& config : {int8_tiles(), whole_tiles()}) {
    if (!tiles.configure(config)) {
      return;
    }
    tiles.release();
  }
  fill_amx_gemm(table);
  fill_amx_coarse(table);
  fill_amx_attend(table);
  fill_amx_float_matmul(table);
}

}  // namespace fathom::kernels
