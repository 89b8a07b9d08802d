// Rows of integer codes with a scale and a zero point per group, whatever file layout they come
// from. Called by weights/quantized_gptq, weights/quantized_packed (which derive from it). Read
// next: quant/blocks.h (BlockI4Group, BlockI8Group).
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/tensor.h"
#include "weights/quantized_pages.h"

namespace fathom::weights {

inline constexpr int64_t kGroupBlock = 32;  // values that share a scale in memory

// Which group each column belongs to, and the order in which groups come to lie side by side.
struct GroupMap {
  int64_t n_groups = 1;
  std::vector<int32_t> group_of_block;                // [n_cols / 32]
  std::shared_ptr<const std::vector<int32_t>> order;  // FileTensor::column_order; null: as stored
};

// Columns in runs of `group_size` (the last may be shorter). Errors: kUnsupported when n_cols or
// the size is no multiple of 32; `where` names file and tensor.
GroupMap make_group_map(int64_t n_cols, int64_t group_size, std::string_view where);

// Column c belongs to group g_idx[c] (act-order). Errors: kCorruptFile when an index is not below
// n_groups, kUnsupported when a group's columns are no multiple of 32.
GroupMap make_group_map(const std::vector<int32_t>& g_idx, int64_t n_groups,
                        std::string_view where);

// A 32-bit little-endian word at any address.
uint32_t load_word(const std::byte* from);

// Byte j of the result is nibble j of the word, counted from the low end.
constexpr uint64_t spread_nibbles(uint32_t word) {
  uint64_t x = word;
  x = (x | x << 16) & 0x0000FFFF0000FFFFULL;
  x = (x | x << 8) & 0x00FF00FF00FF00FFULL;
  return (x | x << 4) & 0x0F0F0F0F0F0F0F0FULL;
}

// The values of an F16, BF16 or F32 tensor, one by one.
class ScaleReader {
 public:
  explicit ScaleReader(const FileTensor& tensor) : type_(tensor.type), data_(tensor.bytes.data()) {}

  [[nodiscard]] float at(int64_t index) const;

 private:
  DType type_;
  const std::byte* data_;
};

// Where a group's zero point is no u8 (0..255) or its scale is not finite, the row is written all
// the same: packing finds the scale.
class GroupedRows : public RowReader {
 public:
  // `type` is kI4Group or kI8Group; sources: see PageCounter.
  GroupedRows(DType type, int64_t n_rows, int64_t n_cols, GroupMap groups,
              std::vector<SourceTensor> sources, bool by_rows);

  void read_rows(int64_t first, int64_t n_rows, std::byte* out) const final;

  [[nodiscard]] size_t file_bytes() const final { return pages_.total_bytes(); }

 protected:
  // Codes of row first + i at codes + i * stride, in the file's order of columns.
  virtual void read_codes(int64_t first, int64_t n_rows, uint8_t* codes, int64_t stride) const = 0;

  // scales, zeros: [n_rows][n_groups]
  virtual void read_groups(int64_t first, int64_t n_rows, float* scales, uint8_t* zeros) const = 0;

  [[nodiscard]] const FileTensor& source(size_t index) const { return sources_[index].tensor; }

  [[nodiscard]] int64_t n_rows() const { return n_rows_; }

  [[nodiscard]] int64_t n_cols() const { return n_cols_; }

  [[nodiscard]] int64_t n_groups() const { return groups_.n_groups; }

 private:
  DType type_;
  int64_t n_rows_;
  int64_t n_cols_;
  GroupMap groups_;
  std::vector<SourceTensor> sources_;
  PageCounter pages_;
};

}  // namespace fathom::weights
