// Unpacks the words of GPTQ and AWQ. Bit fields count from the low end of a word.
// Called by weights/quantized_tensors.
// Sources: the packing code of AutoGPTQ and GPTQModel (format "gptq", "gptq_v2") and of AutoAWQ
// (version "gemm").
//
//   GPTQ  qweight i32 [in * bits / 32, out]     field j of word [w][r]: code of (r, w * 32/bits +
//   j)
//         qzeros  i32 [groups, out * bits / 32] field j of word [g][w]: zero (less one) of row
//                                               w * 32/bits + j
//         scales  [groups, out], g_idx i32 [in]: the group of each column
//   AWQ   qweight i32 [in, out / 8]             row 8w + i of column k: field kField[i] of [k][w]
//         qzeros  i32 [groups, out / 8]         the same; scales [groups, out]
#include "weights/quantized_gptq.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "base/error.h"
#include "quant/pack_bits.h"
#include "weights/quantized_rows.h"

namespace fathom::weights {

namespace {

// Where AWQ keeps row i of eight: packed in the order 0 2 4 6 1 3 5 7.
constexpr int kAwqField[8] = {0, 4, 1, 5, 2, 6, 3, 7};

constexpr int kAwqCodes = 8;  // in a word

enum Part : size_t { kWords, kZeros, kScales };

struct GptqFormat {
  int bits = 4;
  bool zeros_less_one = false;
};

class GptqRows final : public GroupedRows {
 public:
  GptqRows(GptqFormat format, int64_t n_rows, int64_t n_cols, GroupMap groups,
           std::vector<SourceTensor> sources)
      : GroupedRows(format.bits == 4 ? DType::kI4Group : DType::kI8Group, n_rows, n_cols,
                    std::move(groups), std::move(sources), false),
        format_(format),
        per_word_(32 / format.bits),
        mask_((1U << format.bits) - 1U) {}

 private:
  void read_codes(int64_t first, int64_t n, uint8_t* codes, int64_t stride) const override {
    const std::byte* words = source(kWords).bytes.data() + first * 4;
    const int64_t n_words = n_cols() / per_word_;
    const int64_t line_bytes = n_rows() * 4;
    const bool is_nibbles = format_.bits == 4;
    for (int64_t w = 0; w < n_words; ++w) {
      for (int64_t i = 0; i < n; ++i) {
        const uint32_t word = load_word(words + w * line_bytes + i * 4);
        if (is_nibbles) {
          const uint64_t eight = spread_nibbles(word);
          std::memcpy(codes + i * stride + w * 8, &eight, sizeof eight);
        } else {
          std::memcpy(codes + i * stride + w * 4, &word, sizeof word);
        }
      }
    }
  }

  void read_groups(int64_t first, int64_t n, float* scales, uint8_t* zeros) const override {
    const ScaleReader values(source(kScales));
    const std::byte* words = source(kZeros).bytes.data();
    const int64_t words_per_group = (n_rows() + per_word_ - 1) / per_word_;
    for (int64_t g = 0; g < n_groups(); ++g) {
      for (int64_t i = 0; i < n; ++i) {
        const int64_t row = first + i;
        const uint32_t word = load_word(words + (g * words_per_group + row / per_word_) * 4);
        const uint32_t stored = word >> (format_.bits * (row % per_word_)) & mask_;
        // Zero 0 was stored as -1, all ones: the sum wraps.
        const uint32_t zero = format_.zeros_less_one ? (stored + 1U) & mask_ : stored;
        scales[i * n_groups() + g] = values.at(g * n_rows() + row);
        zeros[i * n_groups() + g] = static_cast<uint8_t>(zero);
      }
    }
  }

  GptqFormat format_;
  int64_t per_word_;
  uint32_t mask_;
};

class AwqRows final : public GroupedRows {
 public:
  AwqRows(int64_t n_rows, int64_t n_cols, GroupMap groups, std::vector<SourceTensor> sources)
      : GroupedRows(DType::kI4Group, n_rows, n_cols, std::move(groups), std::move(sources), false) {
  }

 private:
  // Field of `row` in line `line` of words [..][n_rows / 8].
  [[nodiscard]] uint8_t field(const std::byte* words, int64_t line, int64_t row) const {
    const int64_t at = line * (n_rows() / kAwqCodes) + row / kAwqCodes;
    return load_word(words + at * 4) >> (4 * kAwqField[row % kAwqCodes]) & 15U;
  }

  void read_codes(int64_t first, int64_t n, uint8_t* codes, int64_t stride) const override {
    const int64_t n_columns = n_cols();
    uint64_t rows[kAwqCodes];
    for (int64_t w = first / kAwqCodes; w * kAwqCodes < first + n; ++w) {
      const int64_t from = std::max<int64_t>(0, first - w * kAwqCodes);
      const int64_t to = std::min<int64_t>(kAwqCodes, first + n - w * kAwqCodes);
      const int64_t before = w * kAwqCodes - first;  // negative where the word starts earlier
      for (int64_t k = 0; k < n_columns; k += 8) {
        load_columns(w, k, rows);
        for (int64_t r = from; r < to; ++r) {
          std::memcpy(codes + (before + r) * stride + k, &rows[kAwqField[r]], 8);
        }
      }
    }
  }

  // Columns k .. k + 7 of the rows of word w; rows[f]: those of field f.
  void load_columns(int64_t w, int64_t k, uint64_t (&rows)[kAwqCodes]) const {
    const int64_t line_bytes = n_rows() / kAwqCodes * 4;
    const std::byte* word = source(kWords).bytes.data() + k * line_bytes + w * 4;
    for (uint64_t& fields : rows) {
      fields = spread_nibbles(load_word(word));
      word += line_bytes;
    }
    quant::transpose_bytes8(rows);
  }

  void read_groups(int64_t first, int64_t n, float* scales, uint8_t* zeros) const override {
    const ScaleReader values(source(kScales));
    const std::byte* words = source(kZeros).bytes.data();
    for (int64_t g = 0; g < n_groups(); ++g) {
      for (int64_t i = 0; i < n; ++i) {
        scales[i * n_groups() + g] = values.at(g * n_rows() + first + i);
        zeros[i * n_groups() + g] = field(words, g, first + i);
      }
    }
  }
};

// qweight, qzeros and scales; shapes but that of qweight's are checked against it.
std::vector<SourceTensor> take_parts(ModuleTensors& module) {
  std::vector<SourceTensor> parts;
  parts.push_back(module.take("qweight"));
  parts.push_back(module.take("qzeros"));
  parts.push_back(module.take("scales"));
  check_type(parts[kWords], {DType::kI32});
  check_type(parts[kZeros], {DType::kI32});
  check_type(parts[kScales], kScaleTypes);
  if (parts[kWords].tensor.shape.size() != 2) {
    fail(ErrorCode::kUnsupported,
         fmt::format("{}: shape: found {}, read are two dimensions", where(parts[kWords]),
                     format_shape(parts[kWords].tensor.shape)));
  }
  return parts;
}

std::vector<int32_t> read_indices(const SourceTensor& source, int64_t n) {
  check_type(source, {DType::kI32});
  check_shape(source, {n}, "the columns of qweight");
  std::vector<int32_t> indices(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    indices[static_cast<size_t>(i)] =
        static_cast<int32_t>(load_word(source.tensor.bytes.data() + i * 4));
  }
  return indices;
}

}  // namespace

SourceTensor make_gptq_tensor(ModuleTensors& module, const QuantizationConfig& config) {
  const GptqFormat format = {config.bits, config.zeros_less_one};
  const int64_t per_word = 32 / format.bits;
  std::vector<SourceTensor> parts = take_parts(module);
  const std::string at = where(parts[kWords]);
  const int64_t n_rows = parts[kWords].tensor.shape[1];
  const int64_t n_cols = parts[kWords].tensor.shape[0] * per_word;
  const int64_t group_size = config.group_size == -1 ? n_cols : config.group_size;
  GroupMap map = make_group_map(n_cols, group_size, at);
  const std::string why =
      fmt::format("from qweight {}, bits {}, group_size {}",
                  format_shape(parts[kWords].tensor.shape), config.bits, config.group_size);
  check_shape(parts[kScales], {map.n_groups, n_rows}, why);
  check_shape(parts[kZeros], {map.n_groups, (n_rows + per_word - 1) / per_word}, why);
  if (const auto g_idx = module.try_take("g_idx")) {
    map = make_group_map(read_indices(*g_idx, n_cols), map.n_groups, where(*g_idx));
  }
  const DType type = format.bits == 4 ? DType::kI4Group : DType::kI8Group;
  const MappedFile* file = parts[kWords].file;
  auto reader = std::make_shared<GptqRows>(format, n_rows, n_cols, map, std::move(parts));
  SourceTensor result =
      make_computed(module.prefix() + "weight", type, {n_rows, n_cols}, file, std::move(reader));
  result.tensor.column_order = map.order;
  return result;
}

SourceTensor make_awq_tensor(ModuleTensors& module, const QuantizationConfig& config) {
  std::vector<SourceTensor> parts = take_parts(module);
  const std::string at = where(parts[kWords]);
  const int64_t n_cols = parts[kWords].tensor.shape[0];
  const int64_t n_words = parts[kWords].tensor.shape[1];
  const int64_t n_rows = n_words * kAwqCodes;
  const int64_t group_size = config.group_size == -1 ? n_cols : config.group_size;
  GroupMap map = make_group_map(n_cols, group_size, at);
  const std::string why = fmt::format("from qweight {}, group_size {}",
                                      format_shape(parts[kWords].tensor.shape), config.group_size);
  check_shape(parts[kScales], {map.n_groups, n_rows}, why);
  check_shape(parts[kZeros], {map.n_groups, n_words}, why);
  const MappedFile* file = parts[kWords].file;
  auto reader = std::make_shared<AwqRows>(n_rows, n_cols, map, std::move(parts));
  return make_computed(module.prefix() + "weight", DType::kI4Group, {n_rows, n_cols}, file,
                       std::move(reader));
}

}  // namespace fathom::weights
