// Integer dot product of NEON: s8 x s8 products to int16, exact runs of them, then int32.
// Called by neon/gemv.cc, neon/gemm.cc as the Dot of lanes/gemv.h and lanes/gemm.h. Its twins are
// dotprod/dot.h and avx2/dot.h.
#pragma once

#include <arm_neon.h>

#include <cstdint>

#include "kernels/lanes/neon_lanes.h"

namespace fathom::kernels {
namespace {

// An int16 holds a run of products, which decides its length:
//   5-bit codes: 31 * 127 = 3937 a step, 8 steps = 31496    6-bit: 8001, 4 steps = 32004
//   8-bit codes become signed, w = code - 128: 128 * 127 = 16256, 2 steps = 32512
// `kBits`: 5, 6 or 8; fewer bits count as 5.
template <int kBits>
struct NeonDot {
  static constexpr bool kIsSigned = kBits == 8;  // the zero point 128 is gone
  static constexpr int kRun = kBits <= 5 ? 8 : kBits == 6 ? 4 : 2;
  Quad<int16x8_t> low;   // of each register: lanes 0 and 1, four products each
  Quad<int16x8_t> high;  // lanes 2 and 3
  Quad<int32x4_t> sum;

  static Neon::B prepare(Neon::B codes) {
    return kIsSigned ? Neon::xor_bytes(codes, Neon::set1_byte(0x80)) : codes;
  }

  void init(int32_t start) { sum = Neon::set1_int(start); }

  // `step` is a constant after unrolling.
  void add(int step, Neon::B w, int8x16_t x) {
    using Int16 = Quad<int16x8_t>;
    if (step % kRun == 0) {
      if (step > 0) {
        flush();
      }
      low = for_each_register<Int16>(
          [x](auto v) { return vmull_s8(vget_low_s8(signed_of(v)), vget_low_s8(x)); }, w);
      high = for_each_register<Int16>([x](auto v) { return vmull_high_s8(signed_of(v), x); }, w);
    } else {
      low = for_each_register<Int16>(
          [x](auto run, auto v) {
            return vmlal_s8(run, vget_low_s8(signed_of(v)), vget_low_s8(x));
          },
          low, w);
      high = for_each_register<Int16>(
          [x](auto run, auto v) { return vmlal_high_s8(run, signed_of(v), x); }, high, w);
    }
  }

  Neon::I finish(int32_t /*start*/) {
    flush();
    return sum;
  }

 private:
  static int8x16_t signed_of(uint8x16_t v) { return vreinterpretq_s8_u8(v); }

  void flush() {
    sum = for_each_register<Neon::I>(
        [](auto s, auto l, auto h) {
          return vaddq_s32(s, vpaddq_s32(vpaddlq_s16(l), vpaddlq_s16(h)));
        },
        sum, low, high);
  }
};

}  // namespace
}  // namespace fathom::kernels
