// Sixteen lanes as one AVX-512 register (F, BW, DQ, VL): the vocabulary that lanes/ is written in.
// Called by avx512/ and vnni/. Read next: lanes/rows.h; its twin is lanes/avx2_lanes.h.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/lanes/avx2_sums.h"

namespace fathom::kernels {
namespace {

// F: 16 f32. I: 16 int32. B: 64 bytes, 4 for each lane. M: one truth value for each lane.
struct Avx512 {
  using F = __m512;
  using I = __m512i;
  using B = __m512i;
  using M = __mmask16;

  // Register blocks [vectors of 16 outputs][rows of activations], from 32 registers:
  // 2 x 6 integer sums + 2 x 6 floats; 2 x 6 even + 2 x 6 odd chains.
  static constexpr int kVectors = 2;
  static constexpr int kPairedRows = 4;  // rows that lanes/gemv.h multiplies by two groups at once
  static constexpr int kIntRows = 6;
  static constexpr int kFloatRows = 6;
  static constexpr int kBothChains = 12;
  static constexpr int kOneRowVectors = 4;
  static constexpr int kTwoRowVectors = 4;

  static F zero() { return _mm512_setzero_ps(); }

  static F set1(float x) { return _mm512_set1_ps(x); }

  static F load(const float* p) { return _mm512_loadu_ps(p); }

  static void store(float* p, F x) { _mm512_storeu_ps(p, x); }

  // The first n of 16, the others +0 (load) or untouched (store).
  static F load_n(const float* p, int n) { return _mm512_maskz_loadu_ps(first(n), p); }

  static void store_n(float* p, F x, int n) { _mm512_mask_storeu_ps(p, first(n), x); }

  static F add(F a, F b) { return _mm512_add_ps(a, b); }

  static F sub(F a, F b) { return _mm512_sub_ps(a, b); }

  static F mul(F a, F b) { return _mm512_mul_ps(a, b); }

  static F div(F a, F b) { return _mm512_div_ps(a, b); }

  static F sqrt(F a) { return _mm512_sqrt_ps(a); }

  static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }

  // a > b ? a : b, lane by lane: b where either is NaN
  static F larger(F a, F b) { return _mm512_max_ps(a, b); }

  static I to_int(F a) { return _mm512_cvtps_epi32(a); }  // ties to even

  static F to_float(I a) { return _mm512_cvtepi32_ps(a); }

  static I bits(F a) { return _mm512_castps_si512(a); }

  static F from_bits(I a) { return _mm512_castsi512_ps(a); }

  static M less(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }

  static M is_nan(F a) { return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q); }

  // 0, 1, .. 15
  static I lane_numbers() {
    return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  }

  // A lane is true when first <= its number <= last.
  static M between(int first_lane, int last_lane) {
    const I lane = lane_numbers();
    return _mm512_mask_cmple_epi32_mask(_mm512_cmpge_epi32_mask(lane, set1_int(first_lane)), lane,
                                        set1_int(last_lane));
  }

  static F select(M m, F yes, F no) { return _mm512_mask_blend_ps(m, no, yes); }

  static I set1_int(int32_t x) { return _mm512_set1_epi32(x); }

  static I load_int(const void* p) { return _mm512_loadu_si512(p); }

  static void store_int(void* p, I x) { _mm512_storeu_si512(p, x); }

  static I add_int(I a, I b) { return _mm512_add_epi32(a, b); }

  static I sub_int(I a, I b) { return _mm512_sub_epi32(a, b); }

  static I and_int(I a, I b) { return _mm512_and_si512(a, b); }

  static I or_int(I a, I b) { return _mm512_or_si512(a, b); }

  static I xor_int(I a, I b) { return _mm512_xor_si512(a, b); }

  static I max_unsigned(I a, I b) { return _mm512_max_epu32(a, b); }

  template <int kBits>
  static I shl(I a) {
    return _mm512_slli_epi32(a, kBits);
  }

  template <int kBits>
  static I shr(I a) {
    return _mm512_srli_epi32(a, kBits);
  }

  template <int kBits>
  static I sar(I a) {
    return _mm512_srai_epi32(a, kBits);
  }

  // (x0 + x8) .. then + 4, + 2, + 1: the fixed tree of docs/numbers.md.
  static float tree_sum(F x) {
    const __m256 a = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    const __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    const __m128 c = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(c, _mm_movehdup_ps(c)));
  }

  static float lane0(F x) { return _mm512_cvtss_f32(x); }

  // x1 x0 x3 x2 ..
  static F swap_neighbours(F x) { return _mm512_permute_ps(x, 0xB1); }

  // p0 p0 p1 p1 .. p7 p7
  static F load_twice(const float* p) {
    const I lane = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    return _mm512_permutexvar_ps(lane, _mm512_castps256_ps512(_mm256_loadu_ps(p)));
  }

  static float lane_max(F x) { return _mm512_reduce_max_ps(x); }  // no lane may be NaN

  static uint32_t lane_max_unsigned(I x) { return _mm512_reduce_max_epu32(x); }

  // 16 f16 to f32, exact.
  static F load_f16(const std::byte* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }

  // 32 floats that bf16 holds exactly, as bf16: the upper half of each.
  static void store_bf16(void* p, F low, F high) {
    alignas(64) static constexpr uint16_t kUpper[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21,
                                                        23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 43,
                                                        45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
    const __m512i upper = _mm512_load_si512(kUpper);
    _mm512_storeu_si512(p, _mm512_permutex2var_epi16(bits(low), upper, bits(high)));
  }

  static I load_u8_int(const void* p) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p)));
  }

  static F load_u8(const void* p) { return to_float(load_u8_int(p)); }

  static F load_i8(const void* p) {
    return _mm512_cvtepi32_ps(
        _mm512_cvtepi8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p))));
  }

  // The low bytes of 16 lanes, values in -128..127.
  // 32 codes and the sums of their halves.
  static void store_codes(int8_t* q, I low, I high, int32_t* half_sums) {
    avx2_store_codes(q, _mm512_cvtepi32_epi8(low), _mm512_cvtepi32_epi8(high), half_sums);
  }

  // Bytes.
  static B load_bytes(const std::byte* p) { return _mm512_loadu_si512(p); }

  static void store_bytes(void* p, B x) { _mm512_store_si512(p, x); }

  static B set1_byte(int x) { return _mm512_set1_epi8(static_cast<char>(x)); }

  static B and_bytes(B a, B b) { return _mm512_and_si512(a, b); }

  static B sub_bytes(B a, B b) { return _mm512_sub_epi8(a, b); }

  static B xor_bytes(B a, B b) { return _mm512_xor_si512(a, b); }

  // a | (b & mask) in one instruction
  static B or_masked(B a, B b, B mask) { return _mm512_ternarylogic_epi32(a, b, mask, 0xF8); }

  // Shifts 16-bit lanes; the caller masks what crosses a byte. kBits < 0 shifts right.
  template <int kBits>
  static B shift(B a) {
    if constexpr (kBits > 0) {
      return _mm512_slli_epi16(a, kBits);
    } else if constexpr (kBits < 0) {
      return _mm512_srli_epi16(a, -kBits);
    } else {
      return a;
    }
  }

  // Lanes of 16 bits: a value in all of them, a + b, and (a * b + 2^14) >> 15 of signed ones.
  static B set1_word(int x) { return _mm512_set1_epi16(static_cast<int16_t>(x)); }

  static B add_words(B a, B b) { return _mm512_add_epi16(a, b); }

  static B mul_words(B a, B b) { return _mm512_mulhrs_epi16(a, b); }

  // a + bit in the bytes whose bit in the 64-bit mask at p is set (a has that bit clear).
  static B add_bit(B a, const std::byte* p, B bit) {
    uint64_t mask;
    __builtin_memcpy(&mask, p, sizeof mask);
    return _mm512_mask_add_epi8(a, mask, a, bit);
  }

  // table[a] for 16 byte values; a < 16.
  static B look_up(const uint8_t* table, B a) {
    return _mm512_shuffle_epi8(
        _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table))), a);
  }

  // Four int8 activations in every lane.
  static B set1_quad(const int8_t* p) {
    int32_t quad;
    __builtin_memcpy(&quad, p, sizeof quad);
    return _mm512_set1_epi32(quad);
  }

 private:
  static __mmask16 first(int n) { return static_cast<__mmask16>((1U << n) - 1U); }
};

}  // namespace
}  // namespace fathom::kernels
