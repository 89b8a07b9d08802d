// Blocks of quantized values exactly as files hold them.
// Called by quant/dequantize_*, quant/pack_*. Read next: quant/dequantize_kquants.cc.
// Source: ggml-common.h of ggml (MIT), the layout that every GGUF file uses. f16 fields are kept as
// their bits.
#pragma once

#include <cstdint>

namespace fathom::quant {

inline constexpr int kBlockValues = 32;   // values of the simple formats
inline constexpr int kSuperValues = 256;  // values of the K-quants and IQ4_XS

// x[j] = d * (low nibble of qs[j] - 8), x[j + 16] = d * (high nibble - 8)
struct BlockQ4_0 {
  uint16_t d;
  uint8_t qs[16];
};

// x = d * code + m
struct BlockQ4_1 {
  uint16_t d;
  uint16_t m;
  uint8_t qs[16];
};

// x = d * (code - 16); bit 4 of code j is bit j of qh
struct BlockQ5_0 {
  uint16_t d;
  uint8_t qh[4];
  uint8_t qs[16];
};

// x = d * code + m
struct BlockQ5_1 {
  uint16_t d;
  uint16_t m;
  uint8_t qh[4];
  uint8_t qs[16];
};

// x = d * qs
struct BlockQ8_0 {
  uint16_t d;
  int8_t qs[32];
};

// x = d * kIq4Values[nibble], nibbles as Q4_0
struct BlockIQ4_NL {
  uint16_t d;
  uint8_t qs[16];
};

// In the K-quants value k = 128 h + 32 j + l (h 0..1, j 0..3, l 0..31), 16-group g = k / 16,
// 32-block b = k / 32.

// x = d * (scales[g] & 15) * code - dmin * (scales[g] >> 4); code = bits 2j, 2j+1 of qs[32 h + l]
struct BlockQ2_K {
  uint8_t scales[16];
  uint8_t qs[64];
  uint16_t d;
  uint16_t dmin;
};

// x = d * (scale[g] - 32) * (code - 4); code = bits 2j, 2j+1 of qs[32 h + l], and as bit 2: bit b
// of hmask[l]. scale[g]: low nibble of scales[g] (g < 8) or high nibble of scales[g - 8], and above
// it bits 2 (g / 4), +1 of scales[8 + g % 4].
struct BlockQ3_K {
  uint8_t hmask[32];
  uint8_t qs[64];
  uint8_t scales[12];
  uint16_t d;
};

// x = d * scale[b] * code - dmin * min[b]; code = low (b even) or high nibble of qs[32 (b / 2) +
// l]. scale, min: 6 bits; b < 4: scales[b] & 63, scales[b + 4] & 63; else the low (high) nibble of
// scales[b + 4] and above it the two top bits of scales[b - 4] (scales[b]).
struct BlockQ4_K {
  uint16_t d;
  uint16_t dmin;
  uint8_t scales[12];
  uint8_t qs[128];
};

// As Q4_K, with bit b of qh[l] as bit 4 of the code.
struct BlockQ5_K {
  uint16_t d;
  uint16_t dmin;
  uint8_t scales[12];
  uint8_t qh[32];
  uint8_t qs[128];
};

// x = d * scales[g] * (code - 32); code = low (j < 2) or high nibble of ql[64 h + 32 (j % 2) + l],
// and above it bits 2j, 2j+1 of qh[32 h + l]
struct BlockQ6_K {
  uint8_t ql[128];
  uint8_t qh[64];
  int8_t scales[16];
  uint16_t d;
};

// x = d * (scale[b] - 32) * kIq4Values[nibble], nibbles of block b in qs[16 b ..] as Q4_0.
// scale[b]: low (b even) or high nibble of scales_l[b / 2], and above it bits 2b, 2b+1 of scales_h.
struct BlockIQ4_XS {
  uint16_t d;
  uint16_t scales_h;
  uint8_t scales_l[4];
  uint8_t qs[128];
};

// x = 2^(e - 128) * kE2M1Doubled[nibble], nibbles as Q4_0; e = 255 is no scale (NaN). Source: OCP
// Microscaling Formats 1.0, sections 5.2 and 5.3.3.
struct BlockMXFP4 {
  uint8_t e;
  uint8_t qs[16];
};

// x = d * (code - zero), nibbles as Q4_0; d: the bytes of an f32. In memory only: what readers of
// GPTQ, AWQ and compressed-tensors checkpoints make.
struct BlockI4Group {
  uint8_t d[4];
  uint8_t zero;
  uint8_t qs[16];
};

// The same with a byte for each code.
struct BlockI8Group {
  uint8_t d[4];
  uint8_t zero;
  uint8_t qs[32];
};

static_assert(sizeof(BlockQ4_0) == 18);
static_assert(sizeof(BlockQ4_1) == 20);
static_assert(sizeof(BlockQ5_0) == 22);
static_assert(sizeof(BlockQ5_1) == 24);
static_assert(sizeof(BlockQ8_0) == 34);
static_assert(sizeof(BlockIQ4_NL) == 18);
static_assert(sizeof(BlockQ2_K) == 84);
static_assert(sizeof(BlockQ3_K) == 110);
static_assert(sizeof(BlockQ4_K) == 144);
static_assert(sizeof(BlockQ5_K) == 176);
static_assert(sizeof(BlockQ6_K) == 210);
static_assert(sizeof(BlockIQ4_XS) == 136);
static_assert(sizeof(BlockMXFP4) == 17);
static_assert(sizeof(BlockI4Group) == 21);
static_assert(sizeof(BlockI8Group) == 37);

}  // namespace fathom::quant
