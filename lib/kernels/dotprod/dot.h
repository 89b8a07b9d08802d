// Integer dot product of Armv8.2-A: four s8 x s8 products to an int32 lane in one SDOT.
// Called by dotprod/gemv.cc, dotprod/gemm.cc as the Dot of lanes/gemv.h and lanes/gemm.h. Its twins
// are neon/dot.h and vnni/dot.h.
#pragma once

#include <arm_neon.h>

#include <cstdint>

#include "kernels/lanes/dot_block.h"
#include "kernels/lanes/neon_lanes.h"

namespace fathom::kernels {
namespace {

// start + sum over steps of codes * activations. Codes of up to 6 bits are the same signed; those
// of 8 bits become w = code - 128.
template <int kBits>
struct DotprodDot {
  static constexpr bool kIsSigned = kBits == 8;
  Neon::I sum;

  static Neon::B prepare(Neon::B codes) {
    return kIsSigned ? Neon::xor_bytes(codes, Neon::set1_byte(0x80)) : codes;
  }

  void init(int32_t start) { sum = Neon::set1_int(start); }

  void add(int /*step*/, Neon::B w, int8x16_t x) {
    sum = for_each_register<Neon::I>(
        [x](auto s, auto v) { return vdotq_s32(s, vreinterpretq_s8_u8(v), x); }, sum, w);
  }

  Neon::I finish(int32_t /*start*/) const { return sum; }
};

// SDOT takes four codes of a row by their number in a register: one load of 16 codes serves 4
// steps.
template <int kBits, int kR>
class DotBlock<Neon, DotprodDot<kBits>, 1, kR> {
 public:
  template <class Start>
  [[gnu::always_inline]] void init(Start start) {
    for (int m = 0; m < kR; ++m) {
      sum_[m] = Neon::set1_int(start(m));
    }
  }

  template <int kSteps>
  [[gnu::always_inline]] void multiply(const std::byte* codes, const int8_t* q) {
    unroll<kSteps / 4>([&](auto half) {
      int8x16_t x[kR];
      for (int m = 0; m < kR; ++m) {
        x[m] = vld1q_s8(q + 32 * m + 16 * decltype(half)::value);
      }
      unroll<4>([&](auto step) {
        constexpr int kV = decltype(step)::value;
        const Neon::B w = Neon::load_bytes(codes + (4 * decltype(half)::value + kV) * 64);
        for (int m = 0; m < kR; ++m) {
          const int8x16_t row = x[m];
          sum_[m] = for_each_register<Neon::I>(
              [row](auto s, auto v) { return vdotq_laneq_s32(s, vreinterpretq_s8_u8(v), row, kV); },
              sum_[m], w);
        }
      });
    });
  }

  [[gnu::always_inline]] Neon::I finish(int /*n*/, int m, int32_t /*start*/) const {
    return sum_[m];
  }

 private:
  Neon::I sum_[kR];
};

}  // namespace
}  // namespace fathom::kernels
