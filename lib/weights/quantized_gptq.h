// GPTQ and AWQ weights: words of several codes, columns outermost.
// Called by weights/quantized_tensors. Read next: weights/quantized_rows.h.
#pragma once

#include "weights/quantized_config.h"
#include "weights/quantized_module.h"

namespace fathom::weights {

// Replaces qweight, qzeros, scales and g_idx of the module by "weight" [out, in] of type kI4Group
// or kI8Group; with act-order its column_order is set. Errors: kCorruptFile (parts missing, shapes
// that do not fit together), kUnsupported (types, group sizes).
SourceTensor make_gptq_tensor(ModuleTensors& module, const QuantizationConfig& config);

// The same from qweight, qzeros and scales of AWQ's "gemm" layout.
SourceTensor make_awq_tensor(ModuleTensors& module, const QuantizationConfig& config);

}  // namespace fathom::weights
