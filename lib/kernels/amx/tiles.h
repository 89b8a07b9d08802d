// The tiles of this CPU (AMX): eight registers of 16 rows x 64 bytes that belong to the thread.
// Called by amx/gemm.cc as the Tiles of lanes/tile_gemm.h. Its twin is the model of
// tests/lib/kernels/model_tiles.h.
//
// Written as assembly: the intrinsics of GCC paste a tile's number into the text, so that no
// template can choose it, and tell the compiler nothing of the memory they read and write (of a
// configuration, eight bytes): stores before them may then be moved behind them.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/lanes/tile_gemm.h"

namespace fathom::kernels {
namespace {

// Use needs the permission of the operating system (base/cpu.h); without it every one of these is
// an illegal instruction.
class HardwareTiles {
 public:
  // Sets the shapes of the tiles and reads them back; false: they differ, and nothing may be
  // multiplied. Until release() the thread's tiles are saved at every switch.
  [[gnu::noinline]] bool configure(const TileConfig& config) noexcept {
    TileConfig found;
    asm volatile("ldtilecfg %0" : : "m"(config) : "memory");
    asm volatile("sttilecfg %0" : "=m"(found) : : "memory");
    const bool is_same = std::memcmp(&config, &found, sizeof config) == 0;
    if (!is_same) {
      release();
    }
    return is_same;
  }

  void release() noexcept { asm volatile("tilerelease" : : : "memory"); }

  template <int kTile>
  void zero() {
    asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
  }

  // Row r of the tile from p + r * stride bytes.
  template <int kTile>
  void load(const void* p, int64_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(p), "r"(stride), "i"(kTile) : "memory");
  }

  template <int kTile>
  void store(void* p, int64_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(p), "r"(stride), "i"(kTile) : "memory");
  }

  // sum[m][n] += rows[m][4k + i] * codes[k][4n + i]: signed bytes.
  template <int kSum, int kRows, int kCodes>
  void add_int8() {
    asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kRows), "i"(kCodes));
  }

  // The same by unsigned codes.
  template <int kSum, int kRows, int kCodes>
  void add_int8_u8() {
    asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kRows), "i"(kCodes));
  }

  // sum[m][n] += (even + odd), two fma chains from +0 over pairs of bf16: rows[m][2k], rows[m][2k +
  // 1] times weights[k][2n], weights[k][2n + 1].
  template <int kSum, int kRows, int kWeights>
  void add_bf16() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kRows), "i"(kWeights));
  }
};

}  // namespace
}  // namespace fathom::kernels
