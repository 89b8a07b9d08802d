// Views that operations share: float rows, the rows of one sequence in a step, and where in the
// model an operation stands.
// Called by ops, model. Read next: ops/backend.h.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace fathom::ops {

// [n_rows, n_cols] floats, `stride` floats from row to row; owns nothing.
struct Rows {
  float* data = nullptr;
  int64_t n_rows = 0;
  int64_t n_cols = 0;
  int64_t stride = 0;

  [[nodiscard]] float* row(int64_t index) const { return data + index * stride; }
};

// Consecutive positions of one sequence in this step: rows first_row .. first_row + n_rows of the
// batch are positions first_position ... of the sequence.
struct SequenceRows {
  int64_t first_row = 0;
  int64_t n_rows = 0;
  int64_t first_position = 0;
  std::span<const int32_t> pages;  // page of position p: pages[p / kPageTokens]
  int64_t rope_length =
      0;  // planned length, prompt + most new tokens: chooses dynamic and longrope
};

// Where an operation stands: for the observer and for numeric faults.
struct Site {
  int layer = -1;
  std::string_view name;
  std::span<const int64_t> batch_rows = {};  // the batch's row of each of its; empty: the same
};

}  // namespace fathom::ops
