// Reference conversion of the formats with one scale per 32 values.
// Called by quant/dequantize.cc. Read next: quant/dequantize_kquants.cc. Source: ggml (see
// quant/blocks.h).
#include <cstring>

#include "base/half.h"
#include "quant/dequantize.h"
#include "quant/packed_block.h"
#include "quant/small_floats.h"

namespace fathom::quant {

namespace {

constexpr int kHalf = kBlockValues / 2;

// Codes j and j + 16 of a 4-bit block.
struct NibblePair {
  int low;
  int high;
};

NibblePair nibbles_of(uint8_t byte) {
  return {byte & 15, byte >> 4};
}

int bit_of(const uint8_t* bits, int index) {
  return bits[index / 8] >> (index % 8) & 1;
}

}  // namespace

void dequantize_block(const BlockQ4_0& block, float* out) {
  const float d = f16_to_f32(block.d);
  for (int j = 0; j < kHalf; ++j) {
    const NibblePair code = nibbles_of(block.qs[j]);
    out[j] = d * static_cast<float>(code.low - 8);
    out[j + kHalf] = d * static_cast<float>(code.high - 8);
  }
}

void dequantize_block(const BlockQ4_1& block, float* out) {
  const float d = f16_to_f32(block.d);
  const float m = f16_to_f32(block.m);
  for (int j = 0; j < kHalf; ++j) {
    const NibblePair code = nibbles_of(block.qs[j]);
    out[j] = d * static_cast<float>(code.low) + m;
    out[j + kHalf] = d * static_cast<float>(code.high) + m;
  }
}

void dequantize_block(const BlockQ5_0& block, float* out) {
  const float d = f16_to_f32(block.d);
  for (int j = 0; j < kHalf; ++j) {
    const NibblePair code = nibbles_of(block.qs[j]);
    const int low = code.low | bit_of(block.qh, j) << 4;
    const int high = code.high | bit_of(block.qh, j + kHalf) << 4;
    out[j] = d * static_cast<float>(low - 16);
    out[j + kHalf] = d * static_cast<float>(high - 16);
  }
}

void dequantize_block(const BlockQ5_1& block, float* out) {
  const float d = f16_to_f32(block.d);
  const float m = f16_to_f32(block.m);
  for (int j = 0; j < kHalf; ++j) {
    const NibblePair code = nibbles_of(block.qs[j]);
    const int low = code.low | bit_of(block.qh, j) << 4;
    const int high = code.high | bit_of(block.qh, j + kHalf) << 4;
    out[j] = d * static_cast<float>(low) + m;
    out[j + kHalf] = d * static_cast<float>(high) + m;
  }
}

void dequantize_block(const BlockQ8_0& block, float* out) {
  const float d = f16_to_f32(block.d);
  for (int j = 0; j < kBlockValues; ++j) {
    out[j] = d * static_cast<float>(block.qs[j]);
  }
}

void dequantize_block(const BlockIQ4_NL& block, float* out) {
  const float d = f16_to_f32(block.d);
  for (int j = 0; j < kHalf; ++j) {
    const NibblePair code = nibbles_of(block.qs[j]);
    out[j] = d * static_cast<float>(kIq4Values[code.low]);
    out[j + kHalf] = d * static_cast<float>(kIq4Values[code.high]);
  }
}

void dequantize_block(const BlockMXFP4& block, float* out) {
  const float d = half_of_e8m0(block.e);
  for (int j = 0; j < kHalf; ++j) {
    const NibblePair code = nibbles_of(block.qs[j]);
    out[j] = d * static_cast<float>(kE2M1Doubled[code.low]);
    out[j + kHalf] = d * static_cast<float>(kE2M1Doubled[code.high]);
  }
}

void dequantize_block(const BlockI4Group& block, float* out) {
  float d = 0.0F;
  std::memcpy(&d, block.d, sizeof d);
  for (int j = 0; j < kHalf; ++j) {
    const NibblePair code = nibbles_of(block.qs[j]);
    out[j] = d * static_cast<float>(code.low - block.zero);
    out[j + kHalf] = d * static_cast<float>(code.high - block.zero);
  }
}

void dequantize_block(const BlockI8Group& block, float* out) {
  float d = 0.0F;
  std::memcpy(&d, block.d, sizeof d);
  for (int j = 0; j < kBlockValues; ++j) {
    out[j] = d * static_cast<float>(block.qs[j] - block.zero);
  }
}

}  // namespace fathom::quant
