// Integer weights of compressed-tensors checkpoints.
// Called by weights/quantized_tensors. Read next: weights/quantized_rows.h.
#pragma once

#include "weights/quantized_module.h"

namespace fathom::weights {

// Replaces weight_packed, weight_shape, weight_scale, weight_zero_point and weight_g_idx (format
// "pack-quantized", 4 or 8 bits) by "weight" [out, in] of type kI4Group or kI8Group. Errors:
// kCorruptFile (parts missing, shapes that do not fit together), kUnsupported (types, other bit
// widths, group sizes).
SourceTensor make_packed_tensor(ModuleTensors& module);

// Replaces weight (I8) and weight_scale, weight_zero_point (format "int-quantized") by "weight" of
// type kI8Group.
SourceTensor make_int8_tensor(ModuleTensors& module);

}  // namespace fathom::weights
