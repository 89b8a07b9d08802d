// Loops that do nothing but multiply: what a unit of the CPU can do at most.
// Called by machine_limits.cc. Read next: peak_loops.cc.
#pragma once

#include <cstdint>

#include "base/cpu.h"

namespace fathom::app {

// A loop returns something that depends on all its steps. A multiply and an add are two operations.
struct PeakLoop {
  uint64_t (*run)(int64_t steps, uint64_t seed);
  double ops_per_step;
  int64_t n_steps = int64_t{1} << 16;  // of a call: some tenths of a millisecond
};

// With the instructions that the integer kernels of `isa`, which this CPU must have, multiply by:
// scalar vpmaddwd of 128 bits, avx2 the run of its 4-bit kernels (types of more bits have shorter
// runs and reach less), vnni vpdpbusd, amx whole tiles that stay in their registers.
PeakLoop int8_loop(Isa isa);

// amx only: every product of 2 x 2 tiles loads its four operands from L1.
PeakLoop fed_tile_loop();

// fma of f32, as the float kernels do it; scalar: a product and a sum, each rounded.
PeakLoop float_loop(Isa isa);

}  // namespace fathom::app
