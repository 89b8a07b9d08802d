// Makes tokens that stand in the text already less likely.
// Called by sample/sampler. Read next: sample/truncate.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sample/truncate.h"

namespace fathom::sample {

struct Penalties {
  float repeat = 1.0F;     // divides a positive value, multiplies another (arXiv 1909.05858)
  float presence = 0.0F;   // taken off once
  float frequency = 0.0F;  // taken off once per occurrence
  int window = 64;         // last tokens of the history that count; -1: all

  [[nodiscard]] bool is_off() const {
    return window == 0 || (repeat == 1.0F && presence == 0.0F && frequency == 0.0F);
  }
};

// Changes the values of those candidates that stand in the last `window` ids of `history`:
//   v = v > 0 ? v / repeat : v * repeat;  v = v - n * frequency - presence    (n occurrences)
// `counts` [n_vocab] is all zero before and after; ids outside it are passed over.
void apply_penalties(const Penalties& penalties, std::span<const int32_t> history,
                     std::span<int32_t> counts, std::span<Candidate> candidates);

}  // namespace fathom::sample
