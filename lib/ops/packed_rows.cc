// Storage of packed activations: one array per field, [n_blocks][rows] outermost-first.
// Called by model (makes them), ops (fills and reads them). Read next: ops/cpu_matmul.cc.
#include "ops/packed_rows.h"

#include "base/check.h"
#include "quant/coarse.h"
#include "quant/packed.h"

namespace fathom::ops {

namespace {

int64_t blocks_of(int64_t n_cols) {
  return (n_cols + quant::kBlockK - 1) / quant::kBlockK;
}

// Rows of the arrays that hold n_rows: with a power of two, the blocks of a row would all fall into
// the same few lines of a cache.
int64_t stride_of(int64_t n_rows) {
  constexpr int64_t kLines = 16;  // 16 rows of codes are 8 cache lines
  return n_rows < 2 * kLines ? n_rows : ((n_rows + kLines - 1) / kLines | 1) * kLines;
}

// Bytes of one field with `per_block` bytes for each 32 values of a row.
size_t field_bytes(int64_t max_rows, int64_t n_cols, size_t per_block) {
  return MemoryPool::padded_bytes(static_cast<size_t>(stride_of(max_rows) * blocks_of(n_cols)) *
                                  per_block);
}

// Of the coarse form: steps of 64 k, blocks of 256.
int64_t pieces_of(int64_t n_cols, int64_t piece) {
  return (n_cols + piece - 1) / piece;
}

constexpr size_t kCodesBytes = quant::kBlockK;
constexpr size_t kHalvesBytes = quant::kBlockK * sizeof(uint16_t);
constexpr size_t kFloatsBytes = quant::kBlockK * sizeof(float);

}  // namespace

void RowForms::add_for(DType packed_type) {
  FATHOM_CHECK(quant::is_packed_type(packed_type));
  switch (packed_type) {
    case DType::kF32:
      add(RowForm::kF32);
      break;
    case DType::kBF16:
      add(RowForm::kBf16);
      break;
    default:
      add(RowForm::kInt8);
  }
}

void RowForms::add_coarse() {
  if (has(RowForm::kInt8)) {
    add(RowForm::kCoarse);
  }
}

PackedRows::PackedRows(MemoryPool& pool, int64_t max_rows, int64_t n_cols, RowForms forms)
    : max_rows_(max_rows), n_cols_(n_cols), forms_(forms) {
  FATHOM_CHECK(max_rows > 0 && n_cols > 0);
  const auto count = static_cast<size_t>(stride_of(max_rows) * blocks_of(n_cols));
  if (forms.has(RowForm::kInt8)) {
    q_ = pool.allocate_array<int8_t>(count * quant::kBlockK).data();
    d_ = pool.allocate_array<float>(count).data();
    ds_ = pool.allocate_array<float>(count).data();
    sums_ = pool.allocate_array<int32_t>(count).data();
    half_sums_ = pool.allocate_array<int32_t>(count * 2).data();
  }
  if (forms.has(RowForm::kBf16)) {
    bf16_ = pool.allocate_array<float>(count * quant::kBlockK).data();
    halves_ = pool.allocate_array<uint16_t>(count * quant::kBlockK).data();
  }
  if (forms.has(RowForm::kF32)) {
    f32_ = pool.allocate_array<float>(count * quant::kBlockK).data();
  }
  if (forms.has(RowForm::kCoarse)) {
    FATHOM_CHECK(forms.has(RowForm::kInt8));
    const auto n_steps =
        static_cast<size_t>(stride_of(max_rows) * pieces_of(n_cols, quant::kCoarseStepK));
    const auto n_blocks =
        static_cast<size_t>(stride_of(max_rows) * pieces_of(n_cols, quant::kCoarseK));
    coarse_q_ = pool.allocate_array<int8_t>(n_steps * quant::kCoarseStepK).data();
    coarse_d_ = pool.allocate_array<float>(n_blocks).data();
    coarse_sums_ = pool.allocate_array<int32_t>(n_blocks).data();
    is_coarse_ = pool.allocate_array<bool>(static_cast<size_t>(max_rows)).data();
  }
}

size_t PackedRows::bytes(int64_t max_rows, int64_t n_cols, RowForms forms) {
  size_t total = 0;
  if (forms.has(RowForm::kInt8)) {
    total += field_bytes(max_rows, n_cols, kCodesBytes);
    total += 3 * field_bytes(max_rows, n_cols, sizeof(float));  // d, ds, sums
    total += field_bytes(max_rows, n_cols, 2 * sizeof(int32_t));
  }
  if (forms.has(RowForm::kBf16)) {
    total += field_bytes(max_rows, n_cols, kFloatsBytes);
    total += field_bytes(max_rows, n_cols, kHalvesBytes);
  }
  if (forms.has(RowForm::kF32)) {
    total += field_bytes(max_rows, n_cols, kFloatsBytes);
  }
  if (forms.has(RowForm::kCoarse)) {
    const auto n_steps =
        static_cast<size_t>(stride_of(max_rows) * pieces_of(n_cols, quant::kCoarseStepK));
    const auto n_blocks =
        static_cast<size_t>(stride_of(max_rows) * pieces_of(n_cols, quant::kCoarseK));
    total += MemoryPool::padded_bytes(n_steps * quant::kCoarseStepK);
    total += 2 * MemoryPool::padded_bytes(n_blocks * sizeof(float));  // d, sums
    total += MemoryPool::padded_bytes(static_cast<size_t>(max_rows) * sizeof(bool));
  }
  return total;
}

void PackedRows::set_size(int64_t n_rows) {
  FATHOM_CHECK(n_rows >= 0 && n_rows <= max_rows_);
  n_rows_ = n_rows;
  n_coarse_ = 0;
}

void PackedRows::choose(int64_t row, bool is_coarse) {
  is_coarse_[row] = is_coarse;
  n_coarse_ += is_coarse ? 1 : 0;
}

void PackedRows::resize(int64_t n_rows) {
  set_size(n_rows);
  if (is_coarse_ == nullptr || coarse_tokens_.empty()) {
    return;
  }
  const auto n_tokens = std::ssize(coarse_tokens_);
  FATHOM_CHECK(n_rows % n_tokens == 0);
  for (int64_t row = 0; row < n_rows; ++row) {
    choose(row, coarse_tokens_[static_cast<size_t>(row % n_tokens)]);
  }
}

void PackedRows::resize(std::span<const int32_t> token_of) {
  set_size(std::ssize(token_of));
  if (is_coarse_ == nullptr || coarse_tokens_.empty()) {
    return;
  }
  for (int64_t row = 0; row < n_rows_; ++row) {
    const auto token = static_cast<size_t>(token_of[static_cast<size_t>(row)]);
    FATHOM_CHECK(token < coarse_tokens_.size());
    choose(row, coarse_tokens_[token]);
  }
}

void PackedRows::resize_like(const PackedRows& x) {
  set_size(x.n_rows_);
  if (is_coarse_ == nullptr || x.n_coarse_ == 0) {
    return;
  }
  for (int64_t row = 0; row < n_rows_; ++row) {
    choose(row, x.is_coarse_[row]);
  }
}

kernels::RowsView PackedRows::view() const {
  kernels::RowsView view;
  view.n_rows = stride_of(n_rows_);
  view.n_blocks = blocks_of(n_cols_);
  view.q = q_;
  view.d = d_;
  view.ds = ds_;
  view.sums = sums_;
  view.half_sums = half_sums_;
  view.bf16 = bf16_;
  view.halves = halves_;
  view.f32 = f32_;
  view.coarse_q = coarse_q_;
  view.coarse_d = coarse_d_;
  view.coarse_sums = coarse_sums_;
  view.is_coarse = n_coarse_ > 0 ? is_coarse_ : nullptr;
  return view;
}

kernels::QuantizeArgs PackedRows::quantize_args(int64_t row, int64_t first_block) {
  FATHOM_DCHECK(row >= 0 && row < n_rows_ && first_block >= 0);
  kernels::QuantizeArgs args;
  args.row = row;
  args.n_rows = stride_of(n_rows_);
  args.first_block = first_block;
  args.q = q_;
  args.d = d_;
  args.ds = ds_;
  args.sums = sums_;
  args.half_sums = half_sums_;
  return args;
}

kernels::CoarseRowArgs PackedRows::coarse_args(int64_t row, int64_t first_block) {
  FATHOM_DCHECK(row >= 0 && row < n_rows_ && first_block >= 0);
  kernels::CoarseRowArgs args;
  args.row = row;
  args.n_rows = stride_of(n_rows_);
  args.first_block = first_block;
  args.q = coarse_q_;
  args.d = coarse_d_;
  args.sums = coarse_sums_;
  return args;
}

kernels::FloatRowArgs PackedRows::bf16_args(int64_t row, int64_t first_block) {
  FATHOM_DCHECK(row >= 0 && row < n_rows_ && first_block >= 0);
  kernels::FloatRowArgs args;
  args.row = row;
  args.n_rows = stride_of(n_rows_);
  args.first_block = first_block;
  args.out = bf16_;
  args.halves = halves_;
  return args;
}

kernels::FloatRowArgs PackedRows::f32_args(int64_t row, int64_t first_block) {
  kernels::FloatRowArgs args = bf16_args(row, first_block);
  args.out = f32_;
  args.halves = nullptr;
  return args;
}

}  // namespace fathom::ops
