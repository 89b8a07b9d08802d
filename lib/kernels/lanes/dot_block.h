// The exact sums of a register block: kVectors x 16 outputs by kR rows, over one scale group.
// Called by lanes/gemm.h. Read next: vnni/dot.h, avx2/dot.h; dotprod/dot.h and i8mm/dot.h have
// blocks of their own, which load 16 codes of a row at once and take rows in pairs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/lanes/unroll.h"

namespace fathom::kernels {
namespace {

// A Dot for each vector and row.
template <class L, class Dot, int kVectors, int kR>
class DotBlock {
 public:
  // Row m's sums start at start(m).
  template <class Start>
  [[gnu::always_inline]] void init(Start start) {
    for (int m = 0; m < kR; ++m) {
      for (int n = 0; n < kVectors; ++n) {
        dot_[n][m].init(start(m));
      }
    }
  }

  // codes [kSteps][kVectors][16 lanes][4 k]; the codes of row m at q + 32 * m.
  template <int kSteps>
  [[gnu::always_inline]] void multiply(const std::byte* codes, const int8_t* q) {
    unroll<kSteps>([&](auto step) {
      constexpr int kV = decltype(step)::value;
      typename L::B w[kVectors];
      for (int n = 0; n < kVectors; ++n) {
        w[n] = L::load_bytes(codes + (kV * kVectors + n) * 64);
      }
      for (int m = 0; m < kR; ++m) {
        const auto x = L::set1_quad(q + 32 * m + 4 * kV);
        for (int n = 0; n < kVectors; ++n) {
          dot_[n][m].add(kV, w[n], x);
        }
      }
    });
  }

  // The sums of vector n, row m; once, with the start that init() had.
  [[gnu::always_inline]] typename L::I finish(int n, int m, int32_t start) {
    return dot_[n][m].finish(start);
  }

 private:
  Dot dot_[kVectors][kR];
};

}  // namespace
}  // namespace fathom::kernels
