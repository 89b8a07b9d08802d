// Activations in the forms that weights multiply: int8 per 32, bf16-rounded, plain f32, and, for
// prompts under `--arithmetic fast`, int8 per 256. The type owns its layout; only ops and kernels
// look inside.
// Called by model (one per place in the layer). Read next: kernels/table.h (RowsView).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/arena.h"
#include "base/dtype.h"
#include "kernels/table.h"

namespace fathom::ops {

// Which forms a PackedRows holds; a set of bits. kCoarse stands beside kInt8: each row is held in
// one of the two.
enum class RowForm : uint8_t { kInt8 = 1, kBf16 = 2, kF32 = 4, kCoarse = 8 };

class RowForms {
 public:
  RowForms() = default;

  void add(RowForm form) { bits_ |= static_cast<uint8_t>(form); }

  // Adds the form that a weight of this packed type multiplies.
  void add_for(DType packed_type);

  // Adds kCoarse where there is kInt8.
  void add_coarse();

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

  // Which tokens of the step take the coarse form; empty: none. Must outlive the step. Rows without
  // the form kCoarse take no notice.
  void set_coarse_tokens(std::span<const bool> tokens) { coarse_tokens_ = tokens; }

  // Sets the number of rows of this step (at most max_rows); content is undefined afterwards. Row i
  // is of token i modulo the step's tokens, of token token_of[i], or of the token of x's row i.
  void resize(int64_t n_rows);
  void resize(std::span<const int32_t> token_of);
  void resize_like(const PackedRows& x);

  // Whether a row takes the coarse form; whether any does.
  [[nodiscard]] bool is_coarse(int64_t row) const { return n_coarse_ > 0 && is_coarse_[row]; }

  [[nodiscard]] bool has_coarse_rows() const { return n_coarse_ > 0; }

  [[nodiscard]] int64_t n_rows() const { return n_rows_; }

  [[nodiscard]] int64_t n_cols() const { return n_cols_; }

  [[nodiscard]] RowForms forms() const { return forms_; }

  // For kernels; valid until resize().
  [[nodiscard]] kernels::RowsView view() const;

  // Destinations for one row's blocks from `first_block` on (x and n are left to the caller).
  [[nodiscard]] kernels::QuantizeArgs quantize_args(int64_t row, int64_t first_block);
  [[nodiscard]] kernels::CoarseRowArgs coarse_args(int64_t row, int64_t first_block);  // of 256
  [[nodiscard]] kernels::FloatRowArgs bf16_args(int64_t row, int64_t first_block);
  [[nodiscard]] kernels::FloatRowArgs f32_args(int64_t row, int64_t first_block);

 private:
  void set_size(int64_t n_rows);
  void choose(int64_t row, bool is_coarse);

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
  uint16_t* halves_ = nullptr;
  float* f32_ = nullptr;
  int8_t* coarse_q_ = nullptr;
  float* coarse_d_ = nullptr;
  int32_t* coarse_sums_ = nullptr;
  bool* is_coarse_ = nullptr;
  int64_t n_coarse_ = 0;
  std::span<const bool> coarse_tokens_;
};

}  // namespace fathom::ops
