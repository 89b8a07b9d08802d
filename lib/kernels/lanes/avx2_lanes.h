// Sixteen lanes as two AVX2 registers (AVX2, FMA, F16C): lanes 0..7 in lo, 8..15 in hi.
// Called by avx2/. Read next: lanes/rows.h; its twin is lanes/avx512_lanes.h.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/lanes/avx2_sums.h"

namespace fathom::kernels {
namespace {

struct PairF {
  __m256 lo, hi;
};

struct PairI {
  __m256i lo, hi;
};

// The same vocabulary as Avx512; what differs is said beside it.
struct Avx2 {
  using F = PairF;
  using I = PairI;
  using B = PairI;
  using M = PairF;  // all bits of a lane set or clear

  // From 16 registers: 2 x 3 integer sums and as many runs; 2 x 6 chains of floats.
  static constexpr int kVectors = 1;
  static constexpr int kPairedRows = 1;  // rows that lanes/gemv.h multiplies by two groups at once
  static constexpr int kIntRows = 3;     // unless the Dot says otherwise
  static constexpr int kFloatRows = 6;
  static constexpr int kBothChains = 2;     // vectors x rows whose even and odd chains run together
  static constexpr int kOneRowVectors = 4;  // of attention: eight chains hide the latency of an fma
  static constexpr int kTwoRowVectors = 2;

  static F zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }

  static F set1(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }

  static F load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }

  static void store(float* p, F x) {
    _mm256_storeu_ps(p, x.lo);
    _mm256_storeu_ps(p + 8, x.hi);
  }

  static F load_n(const float* p, int n) {
    return {_mm256_maskload_ps(p, first(n)), _mm256_maskload_ps(p + 8, first(n - 8))};
  }

  static void store_n(float* p, F x, int n) {
    _mm256_maskstore_ps(p, first(n), x.lo);
    _mm256_maskstore_ps(p + 8, first(n - 8), x.hi);
  }

  static F add(F a, F b) { return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)}; }

  static F sub(F a, F b) { return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)}; }

  static F mul(F a, F b) { return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)}; }

  static F div(F a, F b) { return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)}; }

  static F sqrt(F a) { return {_mm256_sqrt_ps(a.lo), _mm256_sqrt_ps(a.hi)}; }

  static F fma(F a, F b, F c) {
    return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
  }

  static F larger(F a, F b) { return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)}; }

  static I to_int(F a) { return {_mm256_cvtps_epi32(a.lo), _mm256_cvtps_epi32(a.hi)}; }

  static F to_float(I a) { return {_mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi)}; }

  static I bits(F a) { return {_mm256_castps_si256(a.lo), _mm256_castps_si256(a.hi)}; }

  static F from_bits(I a) { return {_mm256_castsi256_ps(a.lo), _mm256_castsi256_ps(a.hi)}; }

  static M less(F a, F b) {
    return {_mm256_cmp_ps(a.lo, b.lo, _CMP_LT_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_LT_OQ)};
  }

  static M is_nan(F a) {
    return {_mm256_cmp_ps(a.lo, a.lo, _CMP_UNORD_Q), _mm256_cmp_ps(a.hi, a.hi, _CMP_UNORD_Q)};
  }

  static M less_int(I a, I b) {
    return from_bits({_mm256_cmpgt_epi32(b.lo, a.lo), _mm256_cmpgt_epi32(b.hi, a.hi)});
  }

  static I lane_numbers() {
    return {_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
            _mm256_setr_epi32(8, 9, 10, 11, 12, 13, 14, 15)};
  }

  static M between(int first_lane, int last_lane) {
    const I lane = lane_numbers();
    const M from = less_int(set1_int(first_lane - 1), lane);
    const M to = less_int(lane, set1_int(last_lane + 1));
    return {_mm256_and_ps(from.lo, to.lo), _mm256_and_ps(from.hi, to.hi)};
  }

  static F select(M m, F yes, F no) {
    return {_mm256_blendv_ps(no.lo, yes.lo, m.lo), _mm256_blendv_ps(no.hi, yes.hi, m.hi)};
  }

  static I set1_int(int32_t x) { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }

  static I load_int(const void* p) {
    const auto* v = static_cast<const __m256i*>(p);
    return {_mm256_loadu_si256(v), _mm256_loadu_si256(v + 1)};
  }

  static void store_int(void* p, I x) {
    auto* v = static_cast<__m256i*>(p);
    _mm256_storeu_si256(v, x.lo);
    _mm256_storeu_si256(v + 1, x.hi);
  }

  static I add_int(I a, I b) {
    return {_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)};
  }

  static I sub_int(I a, I b) {
    return {_mm256_sub_epi32(a.lo, b.lo), _mm256_sub_epi32(a.hi, b.hi)};
  }

  static I and_int(I a, I b) {
    return {_mm256_and_si256(a.lo, b.lo), _mm256_and_si256(a.hi, b.hi)};
  }

  static I or_int(I a, I b) { return {_mm256_or_si256(a.lo, b.lo), _mm256_or_si256(a.hi, b.hi)}; }

  static I xor_int(I a, I b) {
    return {_mm256_xor_si256(a.lo, b.lo), _mm256_xor_si256(a.hi, b.hi)};
  }

  static I max_unsigned(I a, I b) {
    return {_mm256_max_epu32(a.lo, b.lo), _mm256_max_epu32(a.hi, b.hi)};
  }

  template <int kBits>
  static I shl(I a) {
    return {_mm256_slli_epi32(a.lo, kBits), _mm256_slli_epi32(a.hi, kBits)};
  }

  template <int kBits>
  static I shr(I a) {
    return {_mm256_srli_epi32(a.lo, kBits), _mm256_srli_epi32(a.hi, kBits)};
  }

  template <int kBits>
  static I sar(I a) {
    return {_mm256_srai_epi32(a.lo, kBits), _mm256_srai_epi32(a.hi, kBits)};
  }

  static float tree_sum(F x) {
    const __m256 a = _mm256_add_ps(x.lo, x.hi);
    const __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    const __m128 c = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(c, _mm_movehdup_ps(c)));
  }

  static float lane0(F x) { return _mm256_cvtss_f32(x.lo); }

  static F swap_neighbours(F x) {
    return {_mm256_permute_ps(x.lo, 0xB1), _mm256_permute_ps(x.hi, 0xB1)};
  }

  static F load_twice(const float* p) {
    const __m256i lane = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3);
    const auto twice = [&](const float* q) {
      return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(q)), lane);
    };
    return {twice(p), twice(p + 4)};
  }

  static float lane_max(F x) {
    const __m256 a = _mm256_max_ps(x.lo, x.hi);
    const __m128 b = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    const __m128 c = _mm_max_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_max_ss(c, _mm_movehdup_ps(c)));
  }

  static uint32_t lane_max_unsigned(I x) {
    const __m256i a = _mm256_max_epu32(x.lo, x.hi);
    __m128i b = _mm_max_epu32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    b = _mm_max_epu32(b, _mm_shuffle_epi32(b, 0x4E));
    b = _mm_max_epu32(b, _mm_shuffle_epi32(b, 0xB1));
    return static_cast<uint32_t>(_mm_cvtsi128_si32(b));
  }

  static F load_f16(const std::byte* p) {
    const auto* v = reinterpret_cast<const __m128i*>(p);
    return {_mm256_cvtph_ps(_mm_loadu_si128(v)), _mm256_cvtph_ps(_mm_loadu_si128(v + 1))};
  }

  static I load_u8_int(const void* p) {
    const __m128i v = _mm_loadu_si128(static_cast<const __m128i*>(p));
    return {_mm256_cvtepu8_epi32(v), _mm256_cvtepu8_epi32(_mm_srli_si128(v, 8))};
  }

  static F load_u8(const void* p) { return to_float(load_u8_int(p)); }

  static F load_i8(const void* p) {
    const __m128i v = _mm_loadu_si128(static_cast<const __m128i*>(p));
    return to_float({_mm256_cvtepi8_epi32(v), _mm256_cvtepi8_epi32(_mm_srli_si128(v, 8))});
  }

  static __m128i narrow(I x) {
    // packs interleaves 128-bit halves: 0-3 8-11 | 4-7 12-15, put right at the end
    const __m256i words = _mm256_packs_epi32(x.lo, x.hi);
    const __m128i bytes =
        _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    return _mm_shuffle_epi32(bytes, 0xD8);
  }

  static void store_codes(int8_t* q, I low, I high, int32_t* half_sums) {
    avx2_store_codes(q, narrow(low), narrow(high), half_sums);
  }

  static B load_bytes(const std::byte* p) { return load_int(p); }

  static void store_bytes(void* p, B x) { store_int(p, x); }

  static B set1_byte(int x) {
    return {_mm256_set1_epi8(static_cast<char>(x)), _mm256_set1_epi8(static_cast<char>(x))};
  }

  static B and_bytes(B a, B b) { return and_int(a, b); }

  static B xor_bytes(B a, B b) { return xor_int(a, b); }

  static B or_masked(B a, B b, B mask) { return or_int(a, and_int(b, mask)); }

  // Lanes of 16 bits: a value in all of them, a + b, and (a * b + 2^14) >> 15 of signed ones.
  static B set1_word(int x) {
    const __m256i all = _mm256_set1_epi16(static_cast<int16_t>(x));
    return {all, all};
  }

  static B add_words(B a, B b) {
    return {_mm256_add_epi16(a.lo, b.lo), _mm256_add_epi16(a.hi, b.hi)};
  }

  static B mul_words(B a, B b) {
    return {_mm256_mulhrs_epi16(a.lo, b.lo), _mm256_mulhrs_epi16(a.hi, b.hi)};
  }

  template <int kBits>
  static B shift(B a) {
    if constexpr (kBits > 0) {
      return {_mm256_slli_epi16(a.lo, kBits), _mm256_slli_epi16(a.hi, kBits)};
    } else if constexpr (kBits < 0) {
      return {_mm256_srli_epi16(a.lo, -kBits), _mm256_srli_epi16(a.hi, -kBits)};
    } else {
      return a;
    }
  }

  // There are no mask registers: byte j of a half takes byte j / 8 of the mask and tests bit j % 8.
  static B add_bit(B a, const std::byte* p, B bit) {
    return {_mm256_or_si256(a.lo, _mm256_and_si256(spread(p), bit.lo)),
            _mm256_or_si256(a.hi, _mm256_and_si256(spread(p + 4), bit.hi))};
  }

  static B look_up(const uint8_t* table, B a) {
    const __m256i t =
        _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
    return {_mm256_shuffle_epi8(t, a.lo), _mm256_shuffle_epi8(t, a.hi)};
  }

  static __m256i set1_quad(const int8_t* p) {
    int32_t quad;
    __builtin_memcpy(&quad, p, sizeof quad);
    return _mm256_set1_epi32(quad);
  }

 private:
  static __m256i first(int n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }

  static __m256i spread(const std::byte* p) {
    int32_t mask;
    __builtin_memcpy(&mask, p, sizeof mask);
    const __m256i byte_of =
        _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i bit_of = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201));
    const __m256i bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(mask), byte_of);
    return _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit_of), bit_of);
  }
};

}  // namespace
}  // namespace fathom::kernels
