// Quantized checkpoints of Hugging Face folders as plain tensors.
// Called by weights/hf_folder. Read next: weights/quantized_config.h, weights/quantized_gptq.h,
// weights/quantized_packed.h, weights/quantized_mxfp4.h, weights/fp8_rows.h.
#pragma once

#include "weights/model_file.h"

namespace fathom::weights {

// Replaces the parts of each quantized weight (qweight, scales, ...) by one tensor NAME.weight with
// the weight's own shape, whose RowReader computes rows while they are packed; what is not
// quantized stays as it is. GPTQ, AWQ, compressed-tensors, FP8, MXFP4. The files must stay mapped
// by model.tensors. Errors: kUnsupported (a method, format, bit width or group size that is not
// read, by name), kCorruptFile (parts missing, shapes that do not fit together).
void apply_quantization(ModelFile& model);

}  // namespace fathom::weights
