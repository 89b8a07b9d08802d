// Loops that do nothing but multiply, all of it in registers: the peak of each instruction set.
//
// Chains are written out, for the sums of an inner loop would lie in memory, and start with
// different values, for ten equal sums would become one. An empty assembly line hides a value:
// without it its products would be moved out of the loop.
#include "peak_loops.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace fathom::app {

namespace {

constexpr int kChains = 10;  // independent sums: latency (5) times ports (2)

float factor_of(uint64_t seed) {
  return 1.0F / static_cast<float>((seed & 0xFF) + 2);
}

#if defined(__x86_64__)
// The product that x86-64 always has, pairs of int16: what compilers make of the scalar kernels.
__attribute__((always_inline)) inline void sse_step(__m128i& sum, __m128i& codes) {
  __asm__ volatile("" : "+x"(codes));
  sum = _mm_add_epi32(sum, _mm_madd_epi16(codes, codes));
}

uint64_t sse_loop(int64_t steps, uint64_t seed) {
  __m128i codes = _mm_set1_epi64x(static_cast<long long>(seed));
  __m128i sum0 = _mm_setzero_si128();
  __m128i sum1 = sum0;
  __m128i sum2 = sum0;
  __m128i sum3 = sum0;
  for (int64_t i = 0; i < steps; ++i) {
    sse_step(sum0, codes);
    sse_step(sum1, codes);
    sse_step(sum2, codes);
    sse_step(sum3, codes);
  }
  const __m128i all = _mm_xor_si128(_mm_xor_si128(sum0, sum1), _mm_xor_si128(sum2, sum3));
  return static_cast<uint64_t>(_mm_cvtsi128_si64(all));
}

__attribute__((target("avx2"), always_inline)) inline __m256i avx2_product(__m256i& codes,
                                                                           __m256i a) {
  __asm__ volatile("" : "+x"(codes));
  return _mm256_maddubs_epi16(codes, a);
}

// What the AVX2 kernels of 4-bit codes do for 32 k of a vector (lib/kernels/avx2/dot.h), all of it
// in registers: 8 vpmaddubsw, 7 vpaddw, 1 vpmaddwd, 1 vpaddd for 8 x 32 products.
__attribute__((target("avx2"), always_inline)) inline void avx2_run(__m256i& sum, __m256i& codes,
                                                                    __m256i a, __m256i ones) {
  __m256i run = avx2_product(codes, a);
  run = _mm256_add_epi16(run, avx2_product(codes, a));
  run = _mm256_add_epi16(run, avx2_product(codes, a));
  run = _mm256_add_epi16(run, avx2_product(codes, a));
  run = _mm256_add_epi16(run, avx2_product(codes, a));
  run = _mm256_add_epi16(run, avx2_product(codes, a));
  run = _mm256_add_epi16(run, avx2_product(codes, a));
  run = _mm256_add_epi16(run, avx2_product(codes, a));
  sum = _mm256_add_epi32(sum, _mm256_madd_epi16(run, ones));
}

__attribute__((target("avx2"))) uint64_t avx2_loop(int64_t steps, uint64_t seed) {
  const __m256i a = _mm256_set1_epi64x(static_cast<long long>(seed));
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i codes = _mm256_set1_epi64x(static_cast<long long>(seed & 0x0707070707070707));
  __m256i sum0 = _mm256_setzero_si256();
  __m256i sum1 = sum0;
  __m256i sum2 = sum0;
  __m256i sum3 = sum0;
  for (int64_t i = 0; i < steps; ++i) {  // four runs that do not wait for each other
    avx2_run(sum0, codes, a, ones);
    avx2_run(sum1, codes, a, ones);
    avx2_run(sum2, codes, a, ones);
    avx2_run(sum3, codes, a, ones);
  }
  const __m256i all = _mm256_xor_si256(_mm256_xor_si256(sum0, sum1), _mm256_xor_si256(sum2, sum3));
  return static_cast<uint64_t>(_mm256_extract_epi64(all, 0));
}

__attribute__((target("avx512f,avx512bw,avx512vnni"))) uint64_t vnni_loop(int64_t steps,
                                                                          uint64_t seed) {
  const __m512i a = _mm512_set1_epi64(static_cast<long long>(seed));
  __m512i s[kChains];
  for (int i = 0; i < kChains; ++i) {
    s[i] = _mm512_set1_epi32(i);
  }
  for (int64_t i = 0; i < steps; ++i) {
    s[0] = _mm512_dpbusd_epi32(s[0], a, a);
    s[1] = _mm512_dpbusd_epi32(s[1], a, a);
    s[2] = _mm512_dpbusd_epi32(s[2], a, a);
    s[3] = _mm512_dpbusd_epi32(s[3], a, a);
    s[4] = _mm512_dpbusd_epi32(s[4], a, a);
    s[5] = _mm512_dpbusd_epi32(s[5], a, a);
    s[6] = _mm512_dpbusd_epi32(s[6], a, a);
    s[7] = _mm512_dpbusd_epi32(s[7], a, a);
    s[8] = _mm512_dpbusd_epi32(s[8], a, a);
    s[9] = _mm512_dpbusd_epi32(s[9], a, a);
  }
  __m512i all = s[0];
  for (int i = 1; i < kChains; ++i) {
    all = _mm512_xor_si512(all, s[i]);
  }
  std::array<uint64_t, 8> lanes;
  _mm512_storeu_si512(lanes.data(), all);
  return lanes[0] ^ lanes[7];
}

// AMX, as assembly for the reason that lib/kernels/amx/tiles.h gives: products of whole tiles, 16 x
// 64 bytes by 64 x 16. Who runs it has the permission: the session's kernels are amx.
class Tiles {
 public:
  explicit Tiles(uint64_t seed) {
    std::memset(operands_.data(), static_cast<int>(seed & 7), operands_.size());
    const Config config;
    __asm__ volatile("ldtilecfg %0" : : "m"(config) : "memory");
    __asm__ volatile("tilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\ttilezero %%tmm3"
                     :
                     :
                     : "memory");
    load();
  }

  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;

  // Two tiles of rows, two of columns, from L1.
  __attribute__((always_inline)) void load() const {
    __asm__ volatile(
        "tileloadd (%0,%1,1), %%tmm4\n\ttileloadd 1024(%0,%1,1), %%tmm5\n\t"
        "tileloadd 2048(%0,%1,1), %%tmm6\n\ttileloadd 3072(%0,%1,1), %%tmm7"
        :
        : "r"(operands_.data()), "r"(kStride)
        : "memory");
  }

  __attribute__((always_inline)) static void multiply() {
    __asm__ volatile(
        "tdpbsud %%tmm6, %%tmm4, %%tmm0\n\ttdpbsud %%tmm7, %%tmm4, %%tmm1\n\t"
        "tdpbsud %%tmm6, %%tmm5, %%tmm2\n\ttdpbsud %%tmm7, %%tmm5, %%tmm3"
        :
        :
        : "memory");
  }

  uint64_t finish() {
    __asm__ volatile("tilestored %%tmm3, (%0,%1,1)\n\ttilerelease"
                     :
                     : "r"(operands_.data()), "r"(kStride)
                     : "memory");
    return operands_[0] + operands_[1023];
  }

 private:
  struct alignas(64) Config {
    uint8_t palette = 1;
    std::array<uint8_t, 15> rest = {};
    std::array<uint16_t, 16> row_bytes = {64, 64, 64, 64, 64, 64, 64, 64};
    std::array<uint8_t, 16> rows = {16, 16, 16, 16, 16, 16, 16, 16};
  };

  static constexpr int64_t kStride = 64;
  alignas(64) std::array<uint8_t, 4096> operands_;
};

constexpr double kTileOps = 4 * 16 * 16 * 64 * 2.0;
constexpr int64_t kTileSteps = int64_t{1} << 13;

uint64_t tile_loop(int64_t steps, uint64_t seed) {
  Tiles tiles(seed);
  for (int64_t i = 0; i < steps; ++i) {
    Tiles::multiply();
  }
  return tiles.finish();
}

uint64_t fed_loop(int64_t steps, uint64_t seed) {
  Tiles tiles(seed);
  for (int64_t i = 0; i < steps; ++i) {
    tiles.load();
    Tiles::multiply();
  }
  return tiles.finish();
}

uint64_t sse_float_loop(int64_t steps, uint64_t seed) {
  const __m128 factor = _mm_set1_ps(factor_of(seed));
  __m128 s[kChains];
  for (int i = 0; i < kChains; ++i) {
    s[i] = _mm_set1_ps(static_cast<float>(i));
  }
  for (int64_t i = 0; i < steps; ++i) {
    s[0] = _mm_add_ps(_mm_mul_ps(s[0], factor), factor);
    s[1] = _mm_add_ps(_mm_mul_ps(s[1], factor), factor);
    s[2] = _mm_add_ps(_mm_mul_ps(s[2], factor), factor);
    s[3] = _mm_add_ps(_mm_mul_ps(s[3], factor), factor);
    s[4] = _mm_add_ps(_mm_mul_ps(s[4], factor), factor);
    s[5] = _mm_add_ps(_mm_mul_ps(s[5], factor), factor);
    s[6] = _mm_add_ps(_mm_mul_ps(s[6], factor), factor);
    s[7] = _mm_add_ps(_mm_mul_ps(s[7], factor), factor);
    s[8] = _mm_add_ps(_mm_mul_ps(s[8], factor), factor);
    s[9] = _mm_add_ps(_mm_mul_ps(s[9], factor), factor);
  }
  float all = 0;
  for (const auto& sum : s) {
    all += _mm_cvtss_f32(sum);
  }
  return static_cast<uint64_t>(all * 1024);
}

__attribute__((target("avx2,fma"))) uint64_t avx2_float_loop(int64_t steps, uint64_t seed) {
  const __m256 factor = _mm256_set1_ps(factor_of(seed));
  __m256 s[kChains];
  for (int i = 0; i < kChains; ++i) {
    s[i] = _mm256_set1_ps(static_cast<float>(i));
  }
  for (int64_t i = 0; i < steps; ++i) {
    s[0] = _mm256_fmadd_ps(s[0], factor, factor);
    s[1] = _mm256_fmadd_ps(s[1], factor, factor);
    s[2] = _mm256_fmadd_ps(s[2], factor, factor);
    s[3] = _mm256_fmadd_ps(s[3], factor, factor);
    s[4] = _mm256_fmadd_ps(s[4], factor, factor);
    s[5] = _mm256_fmadd_ps(s[5], factor, factor);
    s[6] = _mm256_fmadd_ps(s[6], factor, factor);
    s[7] = _mm256_fmadd_ps(s[7], factor, factor);
    s[8] = _mm256_fmadd_ps(s[8], factor, factor);
    s[9] = _mm256_fmadd_ps(s[9], factor, factor);
  }
  float all = 0;
  for (const auto& sum : s) {
    all += _mm256_cvtss_f32(sum);
  }
  return static_cast<uint64_t>(all * 1024);
}

__attribute__((target("avx512f"))) uint64_t avx512_float_loop(int64_t steps, uint64_t seed) {
  const __m512 factor = _mm512_set1_ps(factor_of(seed));
  __m512 s[kChains];
  for (int i = 0; i < kChains; ++i) {
    s[i] = _mm512_set1_ps(static_cast<float>(i));
  }
  for (int64_t i = 0; i < steps; ++i) {
    s[0] = _mm512_fmadd_ps(s[0], factor, factor);
    s[1] = _mm512_fmadd_ps(s[1], factor, factor);
    s[2] = _mm512_fmadd_ps(s[2], factor, factor);
    s[3] = _mm512_fmadd_ps(s[3], factor, factor);
    s[4] = _mm512_fmadd_ps(s[4], factor, factor);
    s[5] = _mm512_fmadd_ps(s[5], factor, factor);
    s[6] = _mm512_fmadd_ps(s[6], factor, factor);
    s[7] = _mm512_fmadd_ps(s[7], factor, factor);
    s[8] = _mm512_fmadd_ps(s[8], factor, factor);
    s[9] = _mm512_fmadd_ps(s[9], factor, factor);
  }
  float all = 0;
  for (const auto& sum : s) {
    all += _mm512_cvtss_f32(sum);
  }
  return static_cast<uint64_t>(all * 1024);
}

#else

// Elsewhere: plain code, which says little of what vector sets can do.
uint64_t plain_loop(int64_t steps, uint64_t seed) {
  auto factor = static_cast<uint32_t>(seed | 1);
  std::array<uint32_t, 4> sums = {1, 2, 3, 4};
  for (int64_t i = 0; i < steps; ++i) {
    for (uint32_t& sum : sums) {
      __asm__ volatile("" : "+r"(factor));
      sum += factor * factor;
    }
  }
  return sums[0] ^ sums[1] ^ sums[2] ^ sums[3];
}

// The compiler makes one vector instruction of each operator; the sums differ.
uint64_t plain_float_loop(int64_t steps, uint64_t seed) {
  using Float4 = float __attribute__((vector_size(16)));
  const Float4 factor = Float4{} + factor_of(seed);
  Float4 s[kChains];
  for (int i = 0; i < kChains; ++i) {
    s[i] = Float4{} + static_cast<float>(i);
  }
  for (int64_t i = 0; i < steps; ++i) {
    s[0] = s[0] * factor + factor;
    s[1] = s[1] * factor + factor;
    s[2] = s[2] * factor + factor;
    s[3] = s[3] * factor + factor;
    s[4] = s[4] * factor + factor;
    s[5] = s[5] * factor + factor;
    s[6] = s[6] * factor + factor;
    s[7] = s[7] * factor + factor;
    s[8] = s[8] * factor + factor;
    s[9] = s[9] * factor + factor;
  }
  float all = 0;
  for (const Float4& sum : s) {
    all += sum[0];
  }
  return static_cast<uint64_t>(all * 1024);
}
#endif

}  // namespace

#if defined(__x86_64__)

PeakLoop int8_loop(Isa isa) {
  if (isa >= Isa::kAmx) {
    return {tile_loop, kTileOps, kTileSteps};
  }
  if (isa >= Isa::kVnni) {
    return {vnni_loop, kChains * 64 * 2.0};
  }
  return isa >= Isa::kAvx2 ? PeakLoop{avx2_loop, 4 * 8 * 32 * 2.0}
                           : PeakLoop{sse_loop, 4 * 8 * 2.0};
}

PeakLoop fed_tile_loop() {
  return {fed_loop, kTileOps, kTileSteps};
}

PeakLoop float_loop(Isa isa) {
  if (isa >= Isa::kAvx512) {
    return {avx512_float_loop, kChains * 16 * 2.0};
  }
  return isa >= Isa::kAvx2 ? PeakLoop{avx2_float_loop, kChains * 8 * 2.0}
                           : PeakLoop{sse_float_loop, kChains * 4 * 2.0};
}

#else

PeakLoop int8_loop(Isa /*isa*/) {
  return {plain_loop, 4 * 2.0};
}

PeakLoop fed_tile_loop() {
  return {plain_loop, 4 * 2.0};
}

PeakLoop float_loop(Isa /*isa*/) {
  return {plain_float_loop, kChains * 4 * 2.0};
}

#endif

}  // namespace fathom::app
