// MXFP4 weights of Hugging Face files: blocks and scales as two tensors.
// Called by weights/quantized_tensors. Read next: quant/blocks.h (BlockMXFP4).
#pragma once

#include "weights/quantized_module.h"

namespace fathom::weights {

// Replaces NAME_blocks u8 [..., rows, n / 32, 16] and NAME_scales u8 [..., rows, n / 32] by NAME of
// type kMXFP4 and shape [..., rows, n]; the module's prefix is NAME. Errors: kCorruptFile (shapes),
// kUnsupported (types).
SourceTensor make_mxfp4_tensor(ModuleTensors& module);

}  // namespace fathom::weights
