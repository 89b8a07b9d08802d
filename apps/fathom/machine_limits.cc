// A loop that does nothing but read, and the rates of peak_loops.h.
#include "machine_limits.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

#include "peak_loops.h"

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

constexpr int kRounds = 8;

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
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<uint64_t> seen{0};
    const auto start = std::chrono::steady_clock::now();
    threads.run(n_units, [&](int64_t unit, int) {
      seen += loop.run(loop.n_steps, 0x0102030401020304 + static_cast<uint64_t>(unit));
    });
    best = std::max(best, static_cast<double>(n_units) * static_cast<double>(loop.n_steps) *
                              loop.ops_per_step / seconds_since(start));
  }
  return best;
}

}  // namespace

double measure_ops_per_s(ThreadPool& threads, Isa isa) {
  return run_peak(threads, int8_loop(isa));
}

double measure_fed_tile_ops_per_s(ThreadPool& threads) {
  return run_peak(threads, fed_tile_loop());
}

double measure_float_ops_per_s(ThreadPool& threads, Isa isa) {
  return run_peak(threads, float_loop(isa));
}

}  // namespace fathom::app
