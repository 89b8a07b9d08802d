// NEON: BF16 and F32 weights times rows of activations.
// Called by neon/fill.cc. Read next: lanes/float_matmul.h.
#include "kernels/lanes/float_matmul.h"

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "kernels/lanes/neon_lanes.h"
#include "kernels/neon/parts.h"
#include "kernels/table.h"

namespace fathom::kernels {

namespace {

template <DType kType>
void fill_type(KernelTable& table) {
  table.matmul_few[static_cast<int>(kType)] = float_few<Neon, kType>;
  table.matmul_many[static_cast<int>(kType)] = float_many<Neon, kType>;
}

}  // namespace

void fill_neon_float_matmul(KernelTable& table) {
  fill_type<DType::kBF16>(table);
  fill_type<DType::kF32>(table);
}

}  // namespace fathom::kernels
