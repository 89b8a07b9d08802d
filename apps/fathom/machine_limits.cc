// Loops that do nothing but read, and nothing but multiply.
#include "machine_limits.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace fathom::app {

namespace {

constexpr size_t kRegionBytes = size_t{256} << 20;
constexpr int64_t kUnitsPerThread = 8;
constexpr size_t kLine = 64;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

using Wide = uint64_t __attribute__((vector_size(16)));

// Folds `n_bytes` from each of `streams` equal parts of a piece, a line of each in turn.
uint64_t read_piece(const std::byte* piece, size_t n_bytes, int streams) {
  const size_t part = n_bytes / static_cast<size_t>(streams) / kLine * kLine;
  Wide sum = {0, 0};
  for (size_t at = 0; at < part; at += kLine) {
    for (int stream = 0; stream < streams; ++stream) {
      const std::byte* line = piece + static_cast<size_t>(stream) * part + at;
      for (size_t i = 0; i < kLine; i += sizeof(Wide)) {
        Wide value;
        std::memcpy(&value, line + i, sizeof value);
        sum ^= value;
      }
    }
  }
  return sum[0] ^ sum[1];
}

constexpr int64_t kSteps = 1 << 16;
constexpr int kChains = 10;  // independent sums: latency (5) times ports (2)

// Every loop returns something that depends on all its steps, and the operations of one step.
struct PeakLoop {
  uint64_t (*run)(int64_t steps, uint64_t seed);
  double ops_per_step;
};

uint64_t scalar_loop(int64_t steps, uint64_t seed) {
  std::array<uint32_t, 4> sums = {1, 2, 3, 4};
  const auto factor = static_cast<uint32_t>(seed | 1);
  for (int64_t i = 0; i < steps; ++i) {
    for (uint32_t& sum : sums) {
      sum += factor * (sum >> 8);
    }
  }
  return sums[0] ^ sums[1] ^ sums[2] ^ sums[3];
}

#if defined(__x86_64__)
// Steps are written out, so that the sums stay in registers whatever the compiler unrolls.
__attribute__((target("avx2"), always_inline)) inline void avx2_step(__m256i& sum, __m256i a,
                                                                     __m256i ones) {
  const __m256i pairs = _mm256_maddubs_epi16(a, _mm256_xor_si256(a, sum));
  sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, ones));
}

__attribute__((target("avx2"))) uint64_t avx2_loop(int64_t steps, uint64_t seed) {
  __m256i sums[kChains];
  const __m256i a = _mm256_set1_epi64x(static_cast<long long>(seed & 0x0707070707070707));
  const __m256i ones = _mm256_set1_epi16(1);
  for (auto& sum : sums) {
    sum = _mm256_setzero_si256();
  }
  for (int64_t i = 0; i < steps; ++i) {
    avx2_step(sums[0], a, ones);
    avx2_step(sums[1], a, ones);
    avx2_step(sums[2], a, ones);
    avx2_step(sums[3], a, ones);
    avx2_step(sums[4], a, ones);
    avx2_step(sums[5], a, ones);
    avx2_step(sums[6], a, ones);
    avx2_step(sums[7], a, ones);
    avx2_step(sums[8], a, ones);
    avx2_step(sums[9], a, ones);
  }
  __m256i all = sums[0];
  for (int i = 1; i < kChains; ++i) {
    all = _mm256_xor_si256(all, sums[i]);
  }
  return static_cast<uint64_t>(_mm256_extract_epi64(all, 0));
}

__attribute__((target("avx512f,avx512bw,avx512vnni"))) uint64_t vnni_loop(int64_t steps,
                                                                          uint64_t seed) {
  __m512i sums[kChains];
  const __m512i a = _mm512_set1_epi64(static_cast<long long>(seed));
  for (auto& sum : sums) {
    sum = _mm512_setzero_si512();
  }
  for (int64_t i = 0; i < steps; ++i) {
    sums[0] = _mm512_dpbusd_epi32(sums[0], a, a);
    sums[1] = _mm512_dpbusd_epi32(sums[1], a, a);
    sums[2] = _mm512_dpbusd_epi32(sums[2], a, a);
    sums[3] = _mm512_dpbusd_epi32(sums[3], a, a);
    sums[4] = _mm512_dpbusd_epi32(sums[4], a, a);
    sums[5] = _mm512_dpbusd_epi32(sums[5], a, a);
    sums[6] = _mm512_dpbusd_epi32(sums[6], a, a);
    sums[7] = _mm512_dpbusd_epi32(sums[7], a, a);
    sums[8] = _mm512_dpbusd_epi32(sums[8], a, a);
    sums[9] = _mm512_dpbusd_epi32(sums[9], a, a);
  }
  __m512i all = sums[0];
  for (int i = 1; i < kChains; ++i) {
    all = _mm512_xor_si512(all, sums[i]);
  }
  std::array<uint64_t, 8> lanes;
  _mm512_storeu_si512(lanes.data(), all);
  return lanes[0] ^ lanes[7];
}
#endif

using Float4 = float __attribute__((vector_size(16)));
using Float8 = float __attribute__((vector_size(32)));
using Float16 = float __attribute__((vector_size(64)));

// kChains sums; the compiler makes one vector instruction of each operator.
template <class Vector>
__attribute__((always_inline)) inline uint64_t float_steps(int64_t steps, uint64_t seed) {
  Vector sums[kChains] = {};
  const Vector factor = Vector{} + 1.0F / static_cast<float>((seed & 0xFF) + 2);
  for (int64_t i = 0; i < steps; ++i) {
    sums[0] = sums[0] * factor + factor;
    sums[1] = sums[1] * factor + factor;
    sums[2] = sums[2] * factor + factor;
    sums[3] = sums[3] * factor + factor;
    sums[4] = sums[4] * factor + factor;
    sums[5] = sums[5] * factor + factor;
    sums[6] = sums[6] * factor + factor;
    sums[7] = sums[7] * factor + factor;
    sums[8] = sums[8] * factor + factor;
    sums[9] = sums[9] * factor + factor;
  }
  float all = 0;
  for (const Vector& sum : sums) {
    all += sum[0];
  }
  return static_cast<uint64_t>(all * 1024);
}

uint64_t scalar_float_loop(int64_t steps, uint64_t seed) {
  return float_steps<Float4>(steps, seed);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) uint64_t avx2_float_loop(int64_t steps, uint64_t seed) {
  return float_steps<Float8>(steps, seed);
}

__attribute__((target("avx512f"))) uint64_t avx512_float_loop(int64_t steps, uint64_t seed) {
  return float_steps<Float16>(steps, seed);
}
#endif

PeakLoop float_loop_for([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::kAvx512) {
    return {avx512_float_loop, kChains * 16 * 2.0};
  }
  if (isa >= Isa::kAvx2) {
    return {avx2_float_loop, kChains * 8 * 2.0};
  }
#endif
  return {scalar_float_loop, kChains * 4 * 2.0};
}

PeakLoop loop_for([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::kVnni) {
    return {vnni_loop, kChains * 64 * 2.0};
  }
  if (isa >= Isa::kAvx2) {
    return {avx2_loop, kChains * 32 * 2.0};
  }
#endif
  return {scalar_loop, 4 * 2.0};
}

}  // namespace

BandwidthProbe::BandwidthProbe(ThreadPool& threads)
    : threads_(&threads), region_("bandwidth", kRegionBytes) {
  std::memset(region_.allocate(kRegionBytes).data(), 1, kRegionBytes);
  region_.reset();
}

double BandwidthProbe::read_once(int streams) {
  region_.reset();
  const auto region = region_.allocate(kRegionBytes);
  const int64_t n_units = threads_->n_threads() * kUnitsPerThread;
  const size_t piece = kRegionBytes / static_cast<size_t>(n_units) / kLine * kLine;
  std::atomic<uint64_t> seen{0};
  const auto start = std::chrono::steady_clock::now();
  threads_->run(n_units, [&](int64_t unit, int) {
    seen += read_piece(region.data() + static_cast<size_t>(unit) * piece, piece, streams);
  });
  return static_cast<double>(piece) * static_cast<double>(n_units) / seconds_since(start);
}

void BandwidthProbe::measure() {
  for (const int streams : {1, 2, 4, 8}) {
    const double rate = read_once(streams);
    if (rate > best_.bytes_per_s) {
      best_ = {rate, streams};
    }
  }
}

namespace {

// The best of a few tries with all threads.
double run_peak(ThreadPool& threads, const PeakLoop& loop) {
  const int64_t n_units = threads.n_threads() * 32L;
  double best = 0;
  for (int round = 0; round < 3; ++round) {
    std::atomic<uint64_t> seen{0};
    const auto start = std::chrono::steady_clock::now();
    threads.run(n_units, [&](int64_t unit, int) {
      seen += loop.run(kSteps, 0x0102030401020304 + static_cast<uint64_t>(unit));
    });
    best = std::max(best, static_cast<double>(n_units) * static_cast<double>(kSteps) *
                              loop.ops_per_step / seconds_since(start));
  }
  return best;
}

}  // namespace

double measure_ops_per_s(ThreadPool& threads, Isa isa) {
  return run_peak(threads, loop_for(isa));
}

double measure_float_ops_per_s(ThreadPool& threads, Isa isa) {
  return run_peak(threads, float_loop_for(isa));
}

}  // namespace fathom::app
