// What this machine can do at most: bytes read per second and int8 operations per second.
// Called by bench.cc. Read next: peak_loops.h.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "base/cpu.h"
#include "base/threads.h"

namespace fathom::app {

struct Bandwidth {
  double bytes_per_s = 0;
  int streams = 0;  // addresses that each thread walks along at once
};

// Reads a region larger than the caches with all threads of a pool.
class BandwidthProbe {
 public:
  explicit BandwidthProbe(ThreadPool& threads);

  // One round: 1, 2, 4 and 8 streams a thread; remembers the best of all rounds.
  void measure();

  [[nodiscard]] const Bandwidth& best() const { return best_; }

 private:
  double read_once(int streams);

  ThreadPool* threads_;
  MemoryPool region_;
  Bandwidth best_;
};

// int8 multiply-adds a second in registers, all threads, with the instructions that the integer
// kernels of `isa` use (peak_loops.h). The best of a few tries.
double measure_ops_per_s(ThreadPool& threads, Isa isa);

// The same for the tiles of AMX with every operand loaded from L1; the session's kernels are amx.
double measure_fed_tile_ops_per_s(ThreadPool& threads);

// The same for f32, by fma as the kernels of floats do it.
double measure_float_ops_per_s(ThreadPool& threads, Isa isa);

}  // namespace fathom::app
