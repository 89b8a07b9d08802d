// Values of one block of each quantized format: the reference conversions, one function a format.
// Called by quant/dequantize.cc (rows), quant/pack_float.cc. Read next: quant/blocks.h.
#pragma once

#include "quant/blocks.h"

namespace fathom::quant {

// out: [32]
void dequantize_block(const BlockQ4_0& block, float* out);
void dequantize_block(const BlockQ4_1& block, float* out);
void dequantize_block(const BlockQ5_0& block, float* out);
void dequantize_block(const BlockQ5_1& block, float* out);
void dequantize_block(const BlockQ8_0& block, float* out);
void dequantize_block(const BlockIQ4_NL& block, float* out);
void dequantize_block(const BlockMXFP4& block, float* out);
void dequantize_block(const BlockI4Group& block, float* out);
void dequantize_block(const BlockI8Group& block, float* out);

// out: [256]
void dequantize_block(const BlockQ2_K& block, float* out);
void dequantize_block(const BlockQ3_K& block, float* out);
void dequantize_block(const BlockQ4_K& block, float* out);
void dequantize_block(const BlockQ5_K& block, float* out);
void dequantize_block(const BlockQ6_K& block, float* out);
void dequantize_block(const BlockIQ4_XS& block, float* out);

// Sub-scale and sub-minimum (0..63) of 32-block b from the 12 bytes of Q4_K and Q5_K.
struct ScaleMin {
  int scale = 0;
  int min = 0;
};

ScaleMin scale_min_k4(const uint8_t* scales, int b);

// Sub-scale (0..63, stands for itself - 32) of 16-group g from the 12 bytes of Q3_K.
int scale_k3(const uint8_t* scales, int g);

// Sub-scale (0..63, stands for itself - 32) of 32-block b.
int scale_iq4_xs(const BlockIQ4_XS& block, int b);

}  // namespace fathom::quant
