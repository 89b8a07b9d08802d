// Reference conversion of the formats with sub-scales inside blocks of 256 values.
// Called by quant/dequantize.cc. Read next: quant/blocks.h (the formulas). Source: ggml (see
// there).
#include "base/half.h"
#include "quant/dequantize.h"
#include "quant/packed_block.h"

namespace fathom::quant {

namespace {

// Position of value k inside a block of 256: k = 128 h + 32 j + l.
struct Position {
  int h;
  int j;
  int l;
};

Position position_of(int k) {
  return {k / 128, k / 32 % 4, k % 32};
}

int two_bits(const uint8_t* bytes, Position at) {
  return bytes[32 * at.h + at.l] >> (2 * at.j) & 3;
}

int nibble_k4(const uint8_t* qs, int k) {
  const uint8_t byte = qs[32 * (k / 64) + k % 32];
  return k / 32 % 2 == 0 ? byte & 15 : byte >> 4;
}

}  // namespace

ScaleMin scale_min_k4(const uint8_t* scales, int b) {
  if (b < 4) {
    return {scales[b] & 63, scales[b + 4] & 63};
  }
  return {(scales[b + 4] & 15) | (scales[b - 4] >> 6) << 4, (scales[b + 4] >> 4) | (scales[b] >> 6)
                                                                                       << 4};
}

int scale_k3(const uint8_t* scales, int g) {
  const int low = g < 8 ? scales[g] & 15 : scales[g - 8] >> 4;
  const int high = scales[8 + g % 4] >> (2 * (g / 4)) & 3;
  return low | high << 4;
}

int scale_iq4_xs(const BlockIQ4_XS& block, int b) {
  const int low = block.scales_l[b / 2] >> (4 * (b % 2)) & 15;
  const int high = block.scales_h >> (2 * b) & 3;
  return low | high << 4;
}

void dequantize_block(const BlockQ2_K& block, float* out) {
  const float d = f16_to_f32(block.d);
  const float dmin = f16_to_f32(block.dmin);
  for (int k = 0; k < kSuperValues; ++k) {
    const uint8_t sub = block.scales[k / 16];
    const float scale = d * static_cast<float>(sub & 15);
    const float min = dmin * static_cast<float>(sub >> 4);
    out[k] = scale * static_cast<float>(two_bits(block.qs, position_of(k))) - min;
  }
}

void dequantize_block(const BlockQ3_K& block, float* out) {
  const float d = f16_to_f32(block.d);
  for (int k = 0; k < kSuperValues; ++k) {
    const int high = block.hmask[k % 32] >> (k / 32) & 1;
    const int code = two_bits(block.qs, position_of(k)) | high << 2;
    const float scale = d * static_cast<float>(scale_k3(block.scales, k / 16) - 32);
    out[k] = scale * static_cast<float>(code - 4);
  }
}

void dequantize_block(const BlockQ4_K& block, float* out) {
  const float d = f16_to_f32(block.d);
  const float dmin = f16_to_f32(block.dmin);
  for (int k = 0; k < kSuperValues; ++k) {
    const ScaleMin sub = scale_min_k4(block.scales, k / 32);
    const float scale = d * static_cast<float>(sub.scale);
    const float min = dmin * static_cast<float>(sub.min);
    out[k] = scale * static_cast<float>(nibble_k4(block.qs, k)) - min;
  }
}

void dequantize_block(const BlockQ5_K& block, float* out) {
  const float d = f16_to_f32(block.d);
  const float dmin = f16_to_f32(block.dmin);
  for (int k = 0; k < kSuperValues; ++k) {
    const ScaleMin sub = scale_min_k4(block.scales, k / 32);
    const int high = block.qh[k % 32] >> (k / 32) & 1;
    const int code = nibble_k4(block.qs, k) | high << 4;
    const float scale = d * static_cast<float>(sub.scale);
    const float min = dmin * static_cast<float>(sub.min);
    out[k] = scale * static_cast<float>(code) - min;
  }
}

void dequantize_block(const BlockQ6_K& block, float* out) {
  const float d = f16_to_f32(block.d);
  for (int k = 0; k < kSuperValues; ++k) {
    const Position at = position_of(k);
    const uint8_t byte = block.ql[64 * at.h + 32 * (at.j % 2) + at.l];
    const int low = at.j < 2 ? byte & 15 : byte >> 4;
    const int code = low | two_bits(block.qh, at) << 4;
    const int8_t sub_scale = block.scales[k / 16];
    out[k] = d * static_cast<float>(sub_scale) * static_cast<float>(code - 32);
  }
}

void dequantize_block(const BlockIQ4_XS& block, float* out) {
  const float d = f16_to_f32(block.d);
  for (int k = 0; k < kSuperValues; ++k) {
    const uint8_t byte = block.qs[16 * (k / 32) + k % 16];
    const int nibble = k % 32 < 16 ? byte & 15 : byte >> 4;
    const float scale = d * static_cast<float>(scale_iq4_xs(block, k / 32) - 32);
    out[k] = scale * static_cast<float>(kIq4Values[nibble]);
  }
}

}  // namespace fathom::quant
