// Integer dot product of Armv8.2-A: four s8 x s8 products to an int32 lane in one SDOT.
// Called by dotprod/gemv.cc, dotprod/gemm.cc as the Dot of lanes/gemv.h and lanes/gemm.h. Its twins
// are neon/dot.h and vnni/dot.h.
#pragma once

#include <arm_neon.h>

#include <cstdint>

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

}  // namespace
}  // namespace fathom::kernels
