// Writes codes, scales and zero points as the blocks that quant/pack takes.
// Called through RowReader by model/load. Read next: weights/quantized_gptq.cc.
#include "weights/quantized_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/half.h"
#include "quant/blocks.h"
#include "quant/formats.h"

namespace fathom::weights {

namespace {

constexpr int64_t kRowsAtOnce = 16;  // words of 16 neighbouring rows share a cache line
constexpr int64_t kGap = 64;  // between rows: a power of two apart they would share cache sets

[[noreturn]] void fail_group(std::string_view where, std::string_view what, int64_t n) {
  fail(ErrorCode::kUnsupported,
       fmt::format("{}: found {} of {} columns; read are multiples of {}; use a checkpoint with "
                   "group size 32, 64, 128 or one group per row",
                   where, what, n, kGroupBlock));
}

void check_columns(int64_t n_cols, std::string_view where) {
  if (n_cols % kGroupBlock != 0) {
    fail_group(where, "rows", n_cols);
  }
}

struct RowGroups {
  const float* scales;
  const uint8_t* zeros;
};

template <typename Block>
void write_row(const GroupMap& map, const uint8_t* codes, const RowGroups& groups, std::byte* out) {
  for (const int32_t group : map.group_of_block) {
    Block block;
    std::memcpy(block.d, &groups.scales[group], sizeof block.d);
    block.zero = groups.zeros[group];
    if constexpr (sizeof block.qs == kGroupBlock) {
      std::memcpy(block.qs, codes, sizeof block.qs);
    } else {
      uint64_t quarters[4];  // of eight codes; the upper half goes into the high nibbles
      std::memcpy(quarters, codes, sizeof quarters);
      const uint64_t pairs[2] = {quarters[0] | quarters[2] << 4, quarters[1] | quarters[3] << 4};
      std::memcpy(block.qs, pairs, sizeof block.qs);
    }
    std::memcpy(out, &block, sizeof block);
    out += sizeof block;
    codes += kGroupBlock;
  }
}

}  // namespace

GroupMap make_group_map(int64_t n_cols, int64_t group_size, std::string_view where) {
  check_columns(n_cols, where);
  if (group_size < 1 || group_size % kGroupBlock != 0) {
    fail_group(where, "groups", group_size);
  }
  GroupMap map;
  map.n_groups = (n_cols + group_size - 1) / group_size;
  for (int64_t k = 0; k < n_cols; k += kGroupBlock) {
    map.group_of_block.push_back(static_cast<int32_t>(k / group_size));
  }
  return map;
}

GroupMap make_group_map(const std::vector<int32_t>& g_idx, int64_t n_groups,
                        std::string_view where) {
  const auto n_cols = static_cast<int64_t>(g_idx.size());
  check_columns(n_cols, where);
  for (size_t c = 0; c < g_idx.size(); ++c) {
    if (g_idx[c] < 0 || g_idx[c] >= n_groups) {
      fail(ErrorCode::kCorruptFile,
           fmt::format("{}: group of column {}: found {}, expected 0 to {}", where, c, g_idx[c],
                       n_groups - 1));
    }
  }
  GroupMap map;
  map.n_groups = n_groups;
  std::vector<int32_t> order(g_idx.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int32_t c) { return g_idx[static_cast<size_t>(c)]; });
  const auto group_at = [&](int64_t k) {
    return g_idx[static_cast<size_t>(order[static_cast<size_t>(k)])];
  };
  for (int64_t k = 0; k < n_cols; k += kGroupBlock) {
    const int32_t group = group_at(k);
    if (group_at(k + kGroupBlock - 1) != group) {
      fail_group(where, fmt::format("group {}", group), std::ranges::count(g_idx, group));
    }
    map.group_of_block.push_back(group);
  }
  if (!std::ranges::is_sorted(order)) {
    map.order = std::make_shared<const std::vector<int32_t>>(std::move(order));
  }
  return map;
}

uint32_t load_word(const std::byte* from) {
  uint32_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

float ScaleReader::at(int64_t index) const {
  if (type_ == DType::kF32) {
    float value = 0.0F;
    std::memcpy(&value, data_ + index * 4, sizeof value);
    return value;
  }
  uint16_t half = 0;
  std::memcpy(&half, data_ + index * 2, sizeof half);
  return type_ == DType::kF16 ? f16_to_f32(half) : bf16_to_f32(half);
}

GroupedRows::GroupedRows(DType type, int64_t n_rows, int64_t n_cols, GroupMap groups,
                         std::vector<SourceTensor> sources, bool by_rows)
    : type_(type),
      n_rows_(n_rows),
      n_cols_(n_cols),
      groups_(std::move(groups)),
      sources_(std::move(sources)),
      pages_(n_rows, &sources_, by_rows) {}

void GroupedRows::read_rows(int64_t first, int64_t n_rows, std::byte* out) const {
  const int64_t row_bytes = quant::row_bytes(type_, n_cols_);
  const int64_t stride = n_cols_ + kGap;
  std::vector<uint8_t> codes(static_cast<size_t>(kRowsAtOnce * stride));
  std::vector<uint8_t> ordered(groups_.order == nullptr ? 0 : static_cast<size_t>(n_cols_));
  std::vector<float> scales(static_cast<size_t>(kRowsAtOnce * groups_.n_groups));
  std::vector<uint8_t> zeros(scales.size());
  for (int64_t at = 0; at < n_rows; at += kRowsAtOnce) {
    const int64_t n = std::min(kRowsAtOnce, n_rows - at);
    read_codes(first + at, n, codes.data(), stride);
    read_groups(first + at, n, scales.data(), zeros.data());
    for (int64_t i = 0; i < n; ++i) {
      const uint8_t* row = codes.data() + i * stride;
      for (size_t c = 0; c < ordered.size(); ++c) {
        ordered[c] = row[(*groups_.order)[c]];
      }
      const RowGroups groups = {scales.data() + i * groups_.n_groups,
                                zeros.data() + i * groups_.n_groups};
      const auto write = type_ == DType::kI4Group ? write_row<quant::BlockI4Group>
                                                  : write_row<quant::BlockI8Group>;
      write(groups_, ordered.empty() ? row : ordered.data(), groups, out + (at + i) * row_bytes);
    }
  }
  pages_.note_rows(first, n_rows);
}

}  // namespace fathom::weights
