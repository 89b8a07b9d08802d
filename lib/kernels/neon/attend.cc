// NEON: pages and attention.
// Called by neon/fill.cc. Read next: lanes/attend.h, lanes/pages.h.
#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "kernels/lanes/neon_lanes.h"
#include "kernels/lanes/pages.h"
#include "kernels/neon/parts.h"
#include "kernels/table.h"

namespace fathom::kernels {

void fill_neon_attend(KernelTable& table) {
  fill_attend<Neon>(table);
}

}  // namespace fathom::kernels
