// Sixteen lanes as four NEON registers (Advanced SIMD of Armv8-A): lanes 0..3 in a, .. 12..15 in d.
// Called by neon/, dotprod/, i8mm/. Read next: lanes/rows.h; its twins are lanes/avx512_lanes.h
// (which says what each operation is) and lanes/avx2_lanes.h.
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

namespace fathom::kernels {
namespace {

// Four registers side by side. Not an array: members stay in registers whatever is unrolled.
template <class V>
struct Quad {
  V a, b, c, d;
};

// fn on each of the four registers of xs.
template <class R, class Fn, class... Quads>
[[gnu::always_inline]] inline R for_each_register(Fn fn, const Quads&... xs) {
  return {fn(xs.a...), fn(xs.b...), fn(xs.c...), fn(xs.d...)};
}

// The same vocabulary as Avx512; what differs is said beside it.
struct Neon {
  using F = Quad<float32x4_t>;
  using I = Quad<int32x4_t>;
  using B = Quad<uint8x16_t>;
  using M = Quad<uint32x4_t>;  // all bits of a lane set or clear

  // From 32 registers, four to a vector: 3 integer sums + 3 floats + a vector of weights; 2 even +
  // 2 odd chains + two vectors of weights.
  static constexpr int kVectors = 1;
  static constexpr int kPairedRows = 1;  // rows that lanes/gemv.h multiplies by two groups at once
  static constexpr int kIntRows = 3;
  static constexpr int kFloatRows = 2;
  static constexpr int kBothChains = 2;
  static constexpr int kOneRowVectors = 1;
  static constexpr int kTwoRowVectors = 1;

  static F zero() { return set1(0.0F); }

  static F set1(float x) {
    const float32x4_t v = vdupq_n_f32(x);
    return {v, v, v, v};
  }

  static F load(const float* p) {
    return {vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)};
  }

  static void store(float* p, F x) {
    vst1q_f32(p, x.a);
    vst1q_f32(p + 4, x.b);
    vst1q_f32(p + 8, x.c);
    vst1q_f32(p + 12, x.d);
  }

  // No masked loads here: the ends of rows go through memory.
  static F load_n(const float* p, int n) {
    float lanes[16] = {};
    for (int i = 0; i < n; ++i) {
      lanes[i] = p[i];
    }
    return load(lanes);
  }

  static void store_n(float* p, F x, int n) {
    float lanes[16];
    store(lanes, x);
    for (int i = 0; i < n; ++i) {
      p[i] = lanes[i];
    }
  }

  static F add(F x, F y) {
    return for_each_register<F>([](auto p, auto q) { return vaddq_f32(p, q); }, x, y);
  }

  static F sub(F x, F y) {
    return for_each_register<F>([](auto p, auto q) { return vsubq_f32(p, q); }, x, y);
  }

  static F mul(F x, F y) {
    return for_each_register<F>([](auto p, auto q) { return vmulq_f32(p, q); }, x, y);
  }

  static F div(F x, F y) {
    return for_each_register<F>([](auto p, auto q) { return vdivq_f32(p, q); }, x, y);
  }

  static F sqrt(F x) {
    return for_each_register<F>([](auto p) { return vsqrtq_f32(p); }, x);
  }

  static F fma(F x, F y, F z) {
    return for_each_register<F>([](auto p, auto q, auto r) { return vfmaq_f32(r, p, q); }, x, y, z);
  }

  // FMAX would give NaN where either is; this is a > b ? a : b.
  static F larger(F x, F y) { return select(less(y, x), x, y); }

  static I to_int(F x) {
    return for_each_register<I>([](auto p) { return vcvtnq_s32_f32(p); }, x);
  }

  static F to_float(I x) {
    return for_each_register<F>([](auto p) { return vcvtq_f32_s32(p); }, x);
  }

  static I bits(F x) {
    return for_each_register<I>([](auto p) { return vreinterpretq_s32_f32(p); }, x);
  }

  static F from_bits(I x) {
    return for_each_register<F>([](auto p) { return vreinterpretq_f32_s32(p); }, x);
  }

  static M less(F x, F y) {
    return for_each_register<M>([](auto p, auto q) { return vcltq_f32(p, q); }, x, y);
  }

  static M is_nan(F x) {
    return for_each_register<M>([](auto p) { return vmvnq_u32(vceqq_f32(p, p)); }, x);
  }

  static I lane_numbers() {
    constexpr int32_t kNumbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return load_int(kNumbers);
  }

  static M between(int first_lane, int last_lane) {
    const int32x4_t first = vdupq_n_s32(first_lane);
    const int32x4_t last = vdupq_n_s32(last_lane);
    return for_each_register<M>(
        [=](auto lane) { return vandq_u32(vcgeq_s32(lane, first), vcleq_s32(lane, last)); },
        lane_numbers());
  }

  static F select(M m, F yes, F no) {
    return for_each_register<F>([](auto s, auto p, auto q) { return vbslq_f32(s, p, q); }, m, yes,
                                no);
  }

  static I set1_int(int32_t x) {
    const int32x4_t v = vdupq_n_s32(x);
    return {v, v, v, v};
  }

  static I load_int(const void* p) {
    const auto* v = static_cast<const int32_t*>(p);
    return {vld1q_s32(v), vld1q_s32(v + 4), vld1q_s32(v + 8), vld1q_s32(v + 12)};
  }

  static void store_int(void* p, I x) {
    auto* v = static_cast<int32_t*>(p);
    vst1q_s32(v, x.a);
    vst1q_s32(v + 4, x.b);
    vst1q_s32(v + 8, x.c);
    vst1q_s32(v + 12, x.d);
  }

  static I add_int(I x, I y) {
    return for_each_register<I>([](auto p, auto q) { return vaddq_s32(p, q); }, x, y);
  }

  static I sub_int(I x, I y) {
    return for_each_register<I>([](auto p, auto q) { return vsubq_s32(p, q); }, x, y);
  }

  static I and_int(I x, I y) {
    return for_each_register<I>([](auto p, auto q) { return vandq_s32(p, q); }, x, y);
  }

  static I or_int(I x, I y) {
    return for_each_register<I>([](auto p, auto q) { return vorrq_s32(p, q); }, x, y);
  }

  static I xor_int(I x, I y) {
    return for_each_register<I>([](auto p, auto q) { return veorq_s32(p, q); }, x, y);
  }

  static I max_unsigned(I x, I y) {
    return for_each_register<I>([](auto p, auto q) { return larger_unsigned(p, q); }, x, y);
  }

  template <int kBits>
  static I shl(I x) {
    return for_each_register<I>([](auto p) { return vshlq_n_s32(p, kBits); }, x);
  }

  template <int kBits>
  static I shr(I x) {
    return for_each_register<I>(
        [](auto p) { return vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(p), kBits)); },
        x);
  }

  template <int kBits>
  static I sar(I x) {
    return for_each_register<I>([](auto p) { return vshrq_n_s32(p, kBits); }, x);
  }

  static float tree_sum(F x) {
    const float32x4_t eight = vaddq_f32(vaddq_f32(x.a, x.c), vaddq_f32(x.b, x.d));
    return vpadds_f32(vadd_f32(vget_low_f32(eight), vget_high_f32(eight)));
  }

  static float lane0(F x) { return vgetq_lane_f32(x.a, 0); }

  static F swap_neighbours(F x) {
    return for_each_register<F>([](auto p) { return vrev64q_f32(p); }, x);
  }

  static F load_twice(const float* p) {
    const float32x4_t low = vld1q_f32(p);
    const float32x4_t high = vld1q_f32(p + 4);
    return {vzip1q_f32(low, low), vzip2q_f32(low, low), vzip1q_f32(high, high),
            vzip2q_f32(high, high)};
  }

  static float lane_max(F x) {
    return vmaxvq_f32(vmaxq_f32(vmaxq_f32(x.a, x.b), vmaxq_f32(x.c, x.d)));
  }

  static uint32_t lane_max_unsigned(I x) {
    return vmaxvq_u32(vreinterpretq_u32_s32(
        larger_unsigned(larger_unsigned(x.a, x.b), larger_unsigned(x.c, x.d))));
  }

  static F load_f16(const std::byte* p) {
    const auto* v = reinterpret_cast<const uint16_t*>(p);
    const auto four = [v](int i) {
      return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(v + 4 * i)));
    };
    return {four(0), four(1), four(2), four(3)};
  }

  static I load_u8_int(const void* p) {
    const uint8x16_t v = vld1q_u8(static_cast<const uint8_t*>(p));
    const uint16x8_t low = vmovl_u8(vget_low_u8(v));
    const uint16x8_t high = vmovl_high_u8(v);
    return for_each_register<I>(
        [](auto x) { return vreinterpretq_s32_u32(x); },
        Quad<uint32x4_t>{vmovl_u16(vget_low_u16(low)), vmovl_high_u16(low),
                         vmovl_u16(vget_low_u16(high)), vmovl_high_u16(high)});
  }

  static F load_u8(const void* p) { return to_float(load_u8_int(p)); }

  static F load_i8(const void* p) {
    const int8x16_t v = vld1q_s8(static_cast<const int8_t*>(p));
    const int16x8_t low = vmovl_s8(vget_low_s8(v));
    const int16x8_t high = vmovl_high_s8(v);
    return to_float({vmovl_s16(vget_low_s16(low)), vmovl_high_s16(low),
                     vmovl_s16(vget_low_s16(high)), vmovl_high_s16(high)});
  }

  static int8x16_t narrow(I x) {
    const int16x8_t low = vcombine_s16(vmovn_s32(x.a), vmovn_s32(x.b));
    const int16x8_t high = vcombine_s16(vmovn_s32(x.c), vmovn_s32(x.d));
    return vcombine_s8(vmovn_s16(low), vmovn_s16(high));
  }

  static void store_codes(int8_t* q, I low, I high, int32_t* half_sums) {
    const int8x16_t codes[2] = {narrow(low), narrow(high)};
    for (int half = 0; half < 2; ++half) {
      vst1q_s8(q + 16 * half, codes[half]);
      half_sums[half] = vaddlvq_s8(codes[half]);
    }
  }

  static B load_bytes(const std::byte* p) {
    const auto* v = reinterpret_cast<const uint8_t*>(p);
    return {vld1q_u8(v), vld1q_u8(v + 16), vld1q_u8(v + 32), vld1q_u8(v + 48)};
  }

  static void store_bytes(void* p, B x) {
    auto* v = static_cast<uint8_t*>(p);
    vst1q_u8(v, x.a);
    vst1q_u8(v + 16, x.b);
    vst1q_u8(v + 32, x.c);
    vst1q_u8(v + 48, x.d);
  }

  static B set1_byte(int x) {
    const uint8x16_t v = vdupq_n_u8(static_cast<uint8_t>(x));
    return {v, v, v, v};
  }

  static B and_bytes(B x, B y) {
    return for_each_register<B>([](auto p, auto q) { return vandq_u8(p, q); }, x, y);
  }

  static B xor_bytes(B x, B y) {
    return for_each_register<B>([](auto p, auto q) { return veorq_u8(p, q); }, x, y);
  }

  static B or_masked(B x, B y, B mask) {
    return for_each_register<B>([](auto p, auto q, auto m) { return vorrq_u8(p, vandq_u8(q, m)); },
                                x, y, mask);
  }

  // Shifts bytes, so that nothing crosses.
  template <int kBits>
  static B shift(B x) {
    if constexpr (kBits > 0) {
      return for_each_register<B>([](auto p) { return vshlq_n_u8(p, kBits); }, x);
    } else if constexpr (kBits < 0) {
      return for_each_register<B>([](auto p) { return vshrq_n_u8(p, -kBits); }, x);
    } else {
      return x;
    }
  }

  // There are no mask registers: byte j takes byte j / 8 of the mask and tests bit j % 8.
  static B add_bit(B x, const std::byte* p, B bit) {
    constexpr uint8_t kBits[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    const auto* mask = reinterpret_cast<const uint8_t*>(p);
    const uint8x16_t bits = vld1q_u8(kBits);
    const auto spread = [mask](int i) {
      return vcombine_u8(vld1_dup_u8(mask + 2 * i), vld1_dup_u8(mask + 2 * i + 1));
    };
    return for_each_register<B>(
        [bits](auto v, auto one, auto m) { return vorrq_u8(v, vandq_u8(vtstq_u8(m, bits), one)); },
        x, bit, B{spread(0), spread(1), spread(2), spread(3)});
  }

  static B look_up(const uint8_t* table, B x) {
    const uint8x16_t t = vld1q_u8(table);
    return for_each_register<B>([t](auto p) { return vqtbl1q_u8(t, p); }, x);
  }

  static int8x16_t set1_quad(const int8_t* p) {
    int32_t quad;
    __builtin_memcpy(&quad, p, sizeof quad);
    return vreinterpretq_s8_s32(vdupq_n_s32(quad));
  }

 private:
  static int32x4_t larger_unsigned(int32x4_t x, int32x4_t y) {
    return vreinterpretq_s32_u32(vmaxq_u32(vreinterpretq_u32_s32(x), vreinterpretq_u32_s32(y)));
  }
};

}  // namespace
}  // namespace fathom::kernels
