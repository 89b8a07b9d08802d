// Codes of compressed-tensors: rows outermost, held as unsigned (code + 8 or code + 128).
// Called by weights/quantized_tensors. Source: the compressors pack_quantized and naive_quantized
// of compressed-tensors.
//
//   weight_packed     i32 [out, in * bits / 32]        column k: field k % (32 / bits), low end
//   first weight            i8 [out, in]                     (int-quantized) weight_scale [out,
//   groups]                    groups = 1: a channel; int-quantized also [1] weight_zero_point i32
//   [out * bits / 32, groups]    packed along the rows; or i8 [out, groups] weight_shape      i64
//   [2], weight_g_idx i32 [in]   the group of each column; -1: in order
#include "weights/quantized_packed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "base/error.h"
#include "weights/quantized_rows.h"

namespace fathom::weights {

namespace {

enum Part : size_t { kCodes, kScales, kZeros };

struct PackedFormat {
  int bits = 4;
  bool has_words = true;        // codes in words; else bytes of int8
  bool has_zeros = false;       // else the middle, 2^(bits - 1)
  bool zeros_in_words = false;  // else bytes of int8
  bool one_scale_a_row = true;  // false: one for the whole matrix
};

class PackedRows final : public GroupedRows {
 public:
  PackedRows(PackedFormat format, int64_t n_rows, int64_t n_cols, GroupMap groups,
             std::vector<SourceTensor> sources)
      : GroupedRows(format.bits == 4 ? DType::kI4Group : DType::kI8Group, n_rows, n_cols,
                    std::move(groups), std::move(sources), true),
        format_(format),
        per_word_(32 / format.bits),
        middle_(static_cast<uint8_t>(1 << (format.bits - 1))) {}

 private:
  [[nodiscard]] uint8_t int8_code(const std::byte* data, int64_t at) const {
    return std::to_integer<uint8_t>(data[at]) + middle_;  // wraps: -1 is 127 of 256
  }

  void read_codes(int64_t first, int64_t n, uint8_t* codes, int64_t stride) const override {
    const int64_t n_columns = n_cols();
    const int64_t row_bytes = format_.has_words ? n_columns / per_word_ * 4 : n_columns;
    const std::byte* row = source(kCodes).bytes.data() + first * row_bytes;
    for (int64_t i = 0; i < n; ++i) {
      if (!format_.has_words) {
        flip(row, n_columns, codes);
      } else if (format_.bits == 8) {
        std::memcpy(codes, row, static_cast<size_t>(n_columns));
      } else {
        for (int64_t k = 0; k < n_columns; k += 8) {
          const uint64_t eight = spread_nibbles(load_word(row + k / 2));
          std::memcpy(codes + k, &eight, sizeof eight);
        }
      }
      row += row_bytes;
      codes += stride;
    }
  }

  // int8 to code + 128; rows are multiples of 32.
  static void flip(const std::byte* from, int64_t n, uint8_t* to) {
    for (int64_t k = 0; k < n; k += 8) {
      uint64_t eight = 0;
      std::memcpy(&eight, from + k, sizeof eight);
      eight ^= 0x8080808080808080ULL;
      std::memcpy(to + k, &eight, sizeof eight);
    }
  }

  [[nodiscard]] uint8_t zero_at(int64_t row, int64_t group) const {
    if (!format_.has_zeros) {
      return middle_;
    }
    const std::byte* data = source(kZeros).bytes.data();
    if (!format_.zeros_in_words) {
      return int8_code(data, scale_index(row, group));
    }
    const uint32_t word = load_word(data + (row / per_word_ * n_groups() + group) * 4);
    const uint32_t mask = (1U << format_.bits) - 1U;
    return static_cast<uint8_t>(word >> (format_.bits * (row % per_word_)) & mask);
  }

  [[nodiscard]] int64_t scale_index(int64_t row, int64_t group) const {
    return format_.one_scale_a_row ? row * n_groups() + group : group;
  }

  void read_groups(int64_t first, int64_t n, float* scales, uint8_t* zeros) const override {
    const ScaleReader values(source(kScales));
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t g = 0; g < n_groups(); ++g) {
        scales[i * n_groups() + g] = values.at(scale_index(first + i, g));
        zeros[i * n_groups() + g] = zero_at(first + i, g);
      }
    }
  }

  PackedFormat format_;
  int64_t per_word_;
  uint8_t middle_;
};

void check_matrix(const SourceTensor& source) {
  if (source.tensor.shape.size() != 2) {
    fail(ErrorCode::kUnsupported, fmt::format("{}: shape: found {}, read are two dimensions",
                                              where(source), format_shape(source.tensor.shape)));
  }
}

// [out, in] as weight_shape says it; `packed` must have two dimensions.
std::vector<int64_t> read_shape(const SourceTensor& source, const SourceTensor& packed) {
  check_type(source, {DType::kI64, DType::kI32});
  check_shape(source, {2}, "rows and columns");
  int64_t shape[2] = {};
  if (source.tensor.type == DType::kI64) {
    std::memcpy(shape, source.tensor.bytes.data(), sizeof shape);
  } else {
    int32_t narrow[2];
    std::memcpy(narrow, source.tensor.bytes.data(), sizeof narrow);
    std::copy_n(narrow, 2, shape);
  }
  const std::vector<int64_t>& words = packed.tensor.shape;
  // One to eight bits a code: anything else cannot be what the words hold.
  const int64_t least = (words[1] - 1) * 4 + 1;
  if (shape[0] != words[0] || shape[1] < least || shape[1] > words[1] * 32) {
    fail(ErrorCode::kCorruptFile,
         fmt::format("{}: found [{}, {}], expected [{}, {} to {}], from weight_packed {}",
                     where(source), shape[0], shape[1], words[0], least, words[1] * 32,
                     format_shape(words)));
  }
  return {shape[0], shape[1]};
}

int bits_of(const SourceTensor& packed, int64_t n_cols) {
  const int64_t n_words = packed.tensor.shape[1];
  for (const int bits : {4, 8}) {
    if ((n_cols * bits + 31) / 32 == n_words) {
      return bits;
    }
  }
  fail(ErrorCode::kUnsupported,
       fmt::format("{}: found {} words for {} columns, {:.1f} bits a weight; read are 4 and 8 bits",
                   where(packed), n_words, n_cols,
                   32.0 * static_cast<double>(n_words) / static_cast<double>(n_cols)));
}

// The groups that the scales [out, groups] make. n_cols is a multiple of 32 or refused here.
GroupMap groups_of(const SourceTensor& codes, const SourceTensor& scales, int64_t n_cols) {
  const int64_t n_groups = scales.tensor.shape.empty() ? 1 : scales.tensor.shape.back();
  if (n_groups > n_cols || n_cols % n_groups != 0) {
    fail(ErrorCode::kCorruptFile,
         fmt::format("{}: shape: found {}, expected a last dimension that divides {} columns",
                     where(scales), format_shape(scales.tensor.shape), n_cols));
  }
  return make_group_map(n_cols, n_cols / n_groups, where(codes));
}

std::optional<std::vector<int32_t>> read_order(ModuleTensors& module, int64_t n_cols) {
  const auto source = module.try_take("weight_g_idx");
  if (!source) {
    return std::nullopt;
  }
  check_type(*source, {DType::kI32});
  check_shape(*source, {n_cols}, "the columns of the weight");
  std::vector<int32_t> indices(static_cast<size_t>(n_cols));
  std::memcpy(indices.data(), source->tensor.bytes.data(), indices.size() * sizeof(int32_t));
  if (std::ranges::find(indices, -1) != indices.end()) {
    return std::nullopt;
  }
  return indices;
}

// What only a quantized forward pass reads.
void drop_activation_scales(ModuleTensors& module) {
  module.drop({"input_scale", "input_zero_point", "output_scale", "output_zero_point"});
}

}  // namespace

SourceTensor make_packed_tensor(ModuleTensors& module) {
  std::vector<SourceTensor> parts;
  parts.push_back(module.take("weight_packed"));
  parts.push_back(module.take("weight_scale"));
  check_type(parts[kCodes], {DType::kI32});
  check_type(parts[kScales], kScaleTypes);
  check_matrix(parts[kCodes]);
  const std::vector<int64_t> shape = read_shape(module.take("weight_shape"), parts[kCodes]);
  PackedFormat format;
  format.bits = bits_of(parts[kCodes], shape[1]);
  GroupMap map = groups_of(parts[kCodes], parts[kScales], shape[1]);
  check_shape(parts[kScales], {shape[0], map.n_groups}, "the rows of weight_packed");
  if (auto zeros = module.try_take("weight_zero_point")) {
    check_type(*zeros, {DType::kI32, DType::kI8});
    const int64_t per_word = 32 / format.bits;
    format.has_zeros = true;
    format.zeros_in_words = zeros->tensor.type == DType::kI32;
    const int64_t lines = format.zeros_in_words ? (shape[0] + per_word - 1) / per_word : shape[0];
    check_shape(*zeros, {lines, map.n_groups}, "the shape of weight_scale");
    parts.push_back(*std::move(zeros));
  }
  if (const auto order = read_order(module, shape[1])) {
    map = make_group_map(*order, map.n_groups, where(parts[kCodes]));
  }
  drop_activation_scales(module);
  const DType type = format.bits == 4 ? DType::kI4Group : DType::kI8Group;
  const MappedFile* file = parts[kCodes].file;
  auto reader = std::make_shared<PackedRows>(format, shape[0], shape[1], map, std::move(parts));
  SourceTensor result =
      make_computed(module.prefix() + "weight", type, shape, file, std::move(reader));
  result.tensor.column_order = map.order;
  return result;
}

SourceTensor make_int8_tensor(ModuleTensors& module) {
  std::vector<SourceTensor> parts;
  parts.push_back(module.take("weight"));
  parts.push_back(module.take("weight_scale"));
  check_type(parts[kCodes], {DType::kI8});
  check_type(parts[kScales], kScaleTypes);
  check_matrix(parts[kCodes]);
  const std::vector<int64_t> shape = parts[kCodes].tensor.shape;
  std::vector<int64_t>& scale_shape = parts[kScales].tensor.shape;
  PackedFormat format;
  format.bits = 8;
  format.has_words = false;
  format.one_scale_a_row = parts[kScales].tensor.n_elements() > 1 || shape[0] == 1;
  if (format.one_scale_a_row && scale_shape.size() == 1) {
    scale_shape.push_back(1);
  }
  GroupMap map = groups_of(parts[kCodes], parts[kScales], shape[1]);
  if (format.one_scale_a_row) {
    check_shape(parts[kScales], {shape[0], map.n_groups},
                "a scale for the matrix, each row, or each group of a row");
  }
  if (auto zeros = module.try_take("weight_zero_point")) {
    check_type(*zeros, {DType::kI8});
    const std::string why = "as many as scales";
    if (zeros->tensor.n_elements() != parts[kScales].tensor.n_elements()) {
      check_shape(*zeros, scale_shape, why);
    }
    format.has_zeros = true;
    parts.push_back(*std::move(zeros));
  }
  drop_activation_scales(module);
  const MappedFile* file = parts[kCodes].file;
  auto reader = std::make_shared<PackedRows>(format, shape[0], shape[1], map, std::move(parts));
  return make_computed(module.prefix() + "weight", DType::kI8Group, shape, file, std::move(reader));
}

}  // namespace fathom::weights
