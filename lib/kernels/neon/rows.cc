// NEON: row-wise kernels.
// Called by neon/fill.cc. Read next: lanes/rows.h.
#include "kernels/lanes/rows.h"

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "kernels/lanes/neon_lanes.h"
#include "kernels/neon/parts.h"
#include "kernels/table.h"

namespace fathom::kernels {

void fill_neon_rows(KernelTable& table) {
  fill_rows<Neon>(table);
}

}  // namespace fathom::kernels
