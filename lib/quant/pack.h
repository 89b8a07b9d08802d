// From file rows to packed groups, and one packed row back to floats.
// Called by model/load (all groups in parallel), ops (embedding lookup). Read next: quant/packed.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/dtype.h"
#include "quant/packed.h"

namespace fathom::quant {

// Values of one file row: n_cols floats of `type`, equal to ggml's reference dequantization.
void dequantize_row(DType type, const std::byte* row, int64_t n_cols, float* out);

struct PackGroup {
  DType file_type;    // as stored
  DType packed_type;  // see pack_group
  std::array<const std::byte*, kGroupRows> rows =
      {};  // starts of 16 file rows; nullptr: a zero row
  int64_t n_cols = 0;
  std::byte* out = nullptr;  // group_bytes(packed_type, n_cols), 64-byte aligned
};

// Packs one group. `packed_type` is packed_type_of(file_type, ...), or BF16 or F32 for any file
// type. Returns -1, or the index (0..15) of a row that holds a scale or value that is NaN or
// infinite, also after rounding (the caller names tensor and row). To BF16 rounds to nearest even;
// bf16 and f32 keep their bits, except that bf16 magnitudes below 2^-50 become 0 (docs/numbers.md).
int pack_group(const PackGroup& job);

// One row of a packed matrix as floats [n_cols]: the dequantized value.
void unpack_row(const PackedMatrix& matrix, int64_t row, float* out);

}  // namespace fathom::quant
