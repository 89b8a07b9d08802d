// Integer products of two rows at a time by the 2 x 8 by 8 x 2 matrix product of Armv8.6-A (SMMLA).
// Called by i8mm/gemm.cc as the Dot of lanes/gemm.h. Read next: lanes/dot_block.h.
#pragma once

#include <arm_neon.h>

#include <cstdint>

#include "kernels/lanes/dot_block.h"
#include "kernels/lanes/neon_lanes.h"

namespace fathom::kernels {
namespace {

// 24 sums of 16 lanes x 6 rows, three rows' pairs and two of weights from 32 registers; the floats
// they are added to once in 32 k live in memory.
struct I8mmLanes : Neon {
  static constexpr int kIntRows = 6;
};

template <int kBits>
struct I8mmDot {
  static constexpr bool kIsSigned = kBits == 8;

  static Neon::B prepare(Neon::B codes) {
    return kIsSigned ? Neon::xor_bytes(codes, Neon::set1_byte(0x80)) : codes;
  }

  // A widened block of 8 code vectors, 16 lanes x 4 k each, becomes 4 times 8 registers of 2 lanes
  // x 8 k: k 0..3 and k 4..7 of a lane side by side.
  static void arrange(std::byte* block) {
    for (int step = 0; step < 4; ++step) {
      auto* const v = reinterpret_cast<int32_t*>(block + step * 128);
      const Neon::I first = Neon::load_int(v);
      const Neon::I second = Neon::load_int(v + 16);
      Neon::store_int(v, {vzip1q_s32(first.a, second.a), vzip2q_s32(first.a, second.a),
                          vzip1q_s32(first.b, second.b), vzip2q_s32(first.b, second.b)});
      Neon::store_int(v + 16, {vzip1q_s32(first.c, second.c), vzip2q_s32(first.c, second.c),
                               vzip1q_s32(first.d, second.d), vzip2q_s32(first.d, second.d)});
    }
  }
};

// sum[p][j]: row 2p with lanes 2j and 2j + 1, then row 2p + 1 with the same.
template <int kBits, int kR>
class DotBlock<I8mmLanes, I8mmDot<kBits>, 1, kR> {
 public:
  template <class Start>
  [[gnu::always_inline]] void init(Start start) {
    for (int p = 0; p < kPairs; ++p) {
      const int32x4_t both =
          vcombine_s32(vdup_n_s32(start(2 * p)), vdup_n_s32(start(second_of(p))));
      for (int j = 0; j < 8; ++j) {
        sum_[p][j] = both;
      }
    }
  }

  template <int kSteps>
  [[gnu::always_inline]] void multiply(const std::byte* codes, const int8_t* q) {
    const auto* const w = reinterpret_cast<const int8_t*>(codes);
    unroll<kSteps / 2>([&](auto step) {
      constexpr int kStep = decltype(step)::value;
      int8x16_t x[kPairs];
      for (int p = 0; p < kPairs; ++p) {
        x[p] = vcombine_s8(vld1_s8(q + 64 * p + 8 * kStep),
                           vld1_s8(q + 32 * second_of(p) + 8 * kStep));
      }
      for (int j = 0; j < 8; ++j) {
        const int8x16_t lanes = vld1q_s8(w + 128 * kStep + 16 * j);
        for (int p = 0; p < kPairs; ++p) {
          sum_[p][j] = vmmlaq_s32(sum_[p][j], x[p], lanes);
        }
      }
    });
  }

  [[gnu::always_inline]] Neon::I finish(int /*n*/, int m, int32_t /*start*/) const {
    const int32x4_t* const sum = sum_[m / 2];
    const auto lanes = [&](int j) {
      const int64x2_t low = vreinterpretq_s64_s32(sum[j]);
      const int64x2_t high = vreinterpretq_s64_s32(sum[j + 1]);
      return vreinterpretq_s32_s64(m % 2 == 0 ? vzip1q_s64(low, high) : vzip2q_s64(low, high));
    };
    return {lanes(0), lanes(2), lanes(4), lanes(6)};
  }

 private:
  static constexpr int kPairs = (kR + 1) / 2;

  // The last of an odd number of rows is its own second.
  static constexpr int second_of(int p) { return 2 * p + 1 < kR ? 2 * p + 1 : 2 * p; }

  int32x4_t sum_[kPairs][8];
};

}  // namespace
}  // namespace fathom::kernels
