// Activations in the forms that weights multiply: int8 per 32, bf16-rounded, plain f32. The type
// owns its layout; only ops and kernels look inside.
// Called by model (one per place in the layer). Read next: kernels/table.h (RowsView).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/arena.h"
#include "base/dtype.h"
#include "kernels/table.h"

namespace fathom::ops {

// Which forms a PackedRows holds; a set of bits.
enum class RowForm : uint8_t { kInt8 = 1, kBf16 = 2, kF32 = 4 };

class RowForms {
 public:
  RowForms() = default;

  void add(RowForm form) { bits_ |= static_cast<uint8_t>(form); }

  // Adds the form that a weight of this packed type multiplies.
  void add_for(DType packed_type);

  [[nodiscard]] bool has(RowForm form) const { return (bits_ & static_cast<uint8_t>(form)) != 0; }

 private:
  uint8_t bits_ = 0;
};

class PackedRows {
 public:
  PackedRows() = default;

  // Room for `max_rows` rows of `n_cols`, from `pool`. Error: kOutOfMemory (the plan was too
  // small).
  PackedRows(MemoryPool& pool, int64_t max_rows, int64_t n_cols, RowForms forms);

  // What the constructor takes from the pool.
  static size_t bytes(int64_t max_rows, int64_t n_cols, RowForms forms);

  // Sets the number of rows of this step (at most max_rows); content is undefined afterwards.
  void resize(int64_t n_rows);

  [[nodiscard]] int64_t n_rows() const { return n_rows_; }

  [[nodiscard]] int64_t n_cols() const { return n_cols_; }

  [[nodiscard]] RowForms forms() const { return forms_; }

  // For kernels; valid until resize().
  [[nodiscard]] kernels::RowsView view() const;

  // Destinations for one row's blocks from `first_block` on (x and n are left to the caller).
  [[nodiscard]] kernels::QuantizeArgs quantize_args(int64_t row, int64_t first_block);
  [[nodiscard]] kernels::FloatRowArgs bf16_args(int64_t row, int64_t first_block);
  [[nodiscard]] kernels::FloatRowArgs f32_args(int64_t row, int64_t first_block);

 private:
  int64_t max_rows_ = 0;
  int64_t n_rows_ = 0;
  int64_t n_cols_ = 0;
  RowForms forms_;
  int8_t* q_ = nullptr;
  float* d_ = nullptr;
  float* ds_ = nullptr;
  int32_t* sums_ = nullptr;
  int32_t* half_sums_ = nullptr;
  float* bf16_ = nullptr;
  float* f32_ = nullptr;
};

}  // namespace fathom::ops
