// What config.json says about quantization, checked against what is read.
// Called by weights/quantized_tensors. Read next: weights/quantized_tensors.h.
#pragma once

#include <cstdint>

#include "weights/metadata.h"

namespace fathom::weights {

enum class QuantMethod : uint8_t { kNone, kGptq, kAwq, kCompressedTensors, kFp8, kMxfp4 };

struct QuantizationConfig {
  QuantMethod method = QuantMethod::kNone;
  int bits = 0;                 // GPTQ: 4 or 8; AWQ: 4; else 0: the tensors say it
  int64_t group_size = 0;       // GPTQ, AWQ: columns that share a scale; -1: the whole row
  bool zeros_less_one = false;  // GPTQ files of format "gptq" hold zero - 1
  int64_t block_rows = 0;       // FP8: rows and columns that share a scale; 0: not stated
  int64_t block_cols = 0;
};

// Reads the keys below quantization_config. (or compression_config.) of a flattened config.json.
// Error: kUnsupported, naming key, what was found and what is read: another quant_method, bit
// width, packing or format.
QuantizationConfig read_quantization_config(const Metadata& metadata);

}  // namespace fathom::weights
