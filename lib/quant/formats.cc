// Sizes and file numbers of every storage type, as one table.
// Called by weights, quant/pack, quant/packed. Read next: quant/blocks.h. Source: ggml's GGUF
// document.
#include "quant/formats.h"

#include <array>
#include <cstddef>

namespace fathom::quant {

namespace {

// In the order of DType.
constexpr std::array<Format, kNumDTypes> kFormats = {{
    {DType::kF32, 1, 4, 0},       {DType::kF16, 1, 2, 1},        {DType::kBF16, 1, 2, 30},
    {DType::kQ4_0, 32, 18, 2},    {DType::kQ4_1, 32, 20, 3},     {DType::kQ5_0, 32, 22, 6},
    {DType::kQ5_1, 32, 24, 7},    {DType::kQ8_0, 32, 34, 8},     {DType::kQ2_K, 256, 84, 10},
    {DType::kQ3_K, 256, 110, 11}, {DType::kQ4_K, 256, 144, 12},  {DType::kQ5_K, 256, 176, 13},
    {DType::kQ6_K, 256, 210, 14}, {DType::kIQ4_NL, 32, 18, 20},  {DType::kIQ4_XS, 256, 136, 23},
    {DType::kMXFP4, 32, 17, 39},  {DType::kI4Group, 32, 21, -1}, {DType::kI8Group, 32, 37, -1},
    {DType::kF8_E4M3, 1, 1, -1},  {DType::kF8_E5M2, 1, 1, -1},   {DType::kI8, 1, 1, 24},
    {DType::kI16, 1, 2, 25},      {DType::kI32, 1, 4, 26},       {DType::kI64, 1, 8, 27},
    {DType::kF64, 1, 8, 28},      {DType::kU8, 1, 1, -1},
}};

constexpr bool is_in_dtype_order() {
  for (size_t i = 0; i < kFormats.size(); ++i) {
    if (static_cast<size_t>(kFormats[i].type) != i) {
      return false;
    }
  }
  return true;
}

static_assert(is_in_dtype_order());

}  // namespace

const Format& format_of(DType type) {
  return kFormats[static_cast<size_t>(type)];
}

std::optional<DType> find_ggml_type(uint32_t ggml_type) {
  for (const Format& format : kFormats) {
    if (static_cast<int64_t>(format.ggml_type) == static_cast<int64_t>(ggml_type)) {
      return format.type;
    }
  }
  return std::nullopt;
}

int64_t row_bytes(DType type, int64_t n_cols) {
  const Format& format = format_of(type);
  return n_cols / format.values_per_block * format.bytes_per_block;
}

}  // namespace fathom::quant
