// FP8 weights with scales, as BF16.
// Called by weights/quantized_tensors. Read next: quant/small_floats.h.
#pragma once

#include "weights/quantized_config.h"
#include "weights/quantized_module.h"

namespace fathom::weights {

// Replaces NAME (F8_E4M3 or F8_E5M2, [..., rows, cols]) and NAME_scale_inv or NAME_scale by NAME of
// type kBF16: value = round to nearest even of rn(f8 * scale). The module's prefix is NAME. Scales
// (F16, BF16, F32, or U8 exponents): one for the tensor, [...] one for each matrix, [..., rows] or
// [..., rows, 1] one for each row, or [..., row blocks, column blocks]; blocks are as large as
// config says, or divide the matrix evenly. Errors: kCorruptFile (another shape), kUnsupported
// (types).
SourceTensor make_fp8_tensor(ModuleTensors& module, const QuantizationConfig& config);

}  // namespace fathom::weights
