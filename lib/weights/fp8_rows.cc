// Multiplies eight-bit floats by the scale of their block.
// Called by weights/quantized_tensors. Sources: transformers' integrations/finegrained_fp8.py,
// the compressor float_quantized of compressed-tensors.
#include "weights/fp8_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/half.h"
#include "quant/small_floats.h"
#include "weights/quantized_rows.h"

namespace fathom::weights {

namespace {

using Table = std::array<float, 256>;

template <float (*kConvert)(uint8_t)>
constexpr Table make_table() {
  Table table = {};
  for (size_t i = 0; i < table.size(); ++i) {
    table[i] = kConvert(static_cast<uint8_t>(i));
  }
  return table;
}

constexpr Table kE4M3 = make_table<quant::f8_e4m3_to_f32>();
constexpr Table kE5M2 = make_table<quant::f8_e5m2_to_f32>();

// Element (row, col) of a matrix has the scale at [row / block_rows][col / block_cols].
struct ScaleGrid {
  int64_t block_rows = 1;
  int64_t block_cols = 1;
  int64_t grid_rows = 1;  // of one matrix
  int64_t grid_cols = 1;
};

class Fp8Rows final : public RowReader {
 public:
  Fp8Rows(std::vector<SourceTensor> sources, ScaleGrid grid, int64_t n_rows, int64_t matrix_rows)
      : sources_(std::move(sources)),
        grid_(grid),
        matrix_rows_(matrix_rows),
        pages_(n_rows, &sources_, true) {}

  void read_rows(int64_t first, int64_t n_rows, std::byte* out) const override {
    const FileTensor& tensor = sources_[0].tensor;
    const Table& table = tensor.type == DType::kF8_E4M3 ? kE4M3 : kE5M2;
    const int64_t n_cols = tensor.n_cols();
    for (int64_t row = first; row < first + n_rows; ++row) {
      const std::byte* codes = tensor.bytes.data() + row * n_cols;
      for (int64_t k = 0; k < n_cols; k += grid_.block_cols) {
        const float scale = scale_at(row, k / grid_.block_cols);
        const int64_t end = std::min(n_cols, k + grid_.block_cols);
        for (int64_t c = k; c < end; ++c) {
          const float value = table[std::to_integer<uint8_t>(codes[c])] * scale;
          const uint16_t half = f32_to_bf16(value);
          std::memcpy(out, &half, sizeof half);
          out += sizeof half;
        }
      }
    }
    pages_.note_rows(first, n_rows);
  }

  [[nodiscard]] size_t file_bytes() const override { return pages_.total_bytes(); }

 private:
  [[nodiscard]] float scale_at(int64_t row, int64_t grid_col) const {
    const int64_t line =
        row / matrix_rows_ * grid_.grid_rows + row % matrix_rows_ / grid_.block_rows;
    const int64_t at = line * grid_.grid_cols + grid_col;
    const FileTensor& scales = sources_[1].tensor;
    if (scales.type == DType::kU8) {  // an E8M0 exponent
      return 2.0F * quant::half_of_e8m0(std::to_integer<uint8_t>(scales.bytes[at]));
    }
    return ScaleReader(scales).at(at);
  }

  std::vector<SourceTensor> sources_;
  ScaleGrid grid_;
  int64_t matrix_rows_;
  PageCounter pages_;
};

// The block length that cuts n into n_blocks: the configured one where it fits, else an even cut.
std::optional<int64_t> block_of(int64_t n, int64_t n_blocks, int64_t configured) {
  if (configured > 0 && (n + configured - 1) / configured == n_blocks) {
    return configured;
  }
  if (n_blocks > 0 && n % n_blocks == 0) {
    return n / n_blocks;
  }
  return std::nullopt;
}

// The scales' shape as [matrices, row blocks, column blocks], whichever way it is written.
std::vector<int64_t> full_shape(const FileTensor& tensor, const FileTensor& scales) {
  const std::vector<int64_t>& shape = scales.shape;
  const size_t rank = tensor.shape.size();
  if (shape.size() >= rank) {
    return shape;
  }
  std::vector<int64_t> full = shape;
  if (scales.n_elements() == 1) {
    full.clear();
  } else if (shape.size() + 2 == rank) {
    full.push_back(1);  // one for each matrix
  }
  full.resize(rank, 1);
  return full;
}

ScaleGrid grid_of(const SourceTensor& weight, const SourceTensor& scales,
                  const QuantizationConfig& config) {
  const std::vector<int64_t>& shape = weight.tensor.shape;
  const std::vector<int64_t> cut = full_shape(weight.tensor, scales.tensor);
  const size_t rank = shape.size();
  ScaleGrid grid;
  bool fits = cut.size() == rank;
  for (size_t i = 0; i + 2 < rank && fits; ++i) {
    fits = cut[i] == shape[i];
  }
  if (fits) {
    grid.grid_rows = cut[rank - 2];
    grid.grid_cols = cut[rank - 1];
    const auto rows = block_of(shape[rank - 2], grid.grid_rows, config.block_rows);
    const auto cols = block_of(shape[rank - 1], grid.grid_cols, config.block_cols);
    if (rows && cols) {
      grid.block_rows = *rows;
      grid.block_cols = *cols;
      return grid;
    }
  }
  fail(ErrorCode::kCorruptFile,
       fmt::format("{}: shape: found {}, expected one scale, one for each row, or one for each "
                   "block of {}",
                   where(scales), format_shape(scales.tensor.shape), format_shape(shape)));
}

}  // namespace

SourceTensor make_fp8_tensor(ModuleTensors& module, const QuantizationConfig& config) {
  std::vector<SourceTensor> parts;
  parts.push_back(module.take(""));
  parts.push_back(module.take(module.has("_scale_inv") ? "_scale_inv" : "_scale"));
  check_type(parts[0], {DType::kF8_E4M3, DType::kF8_E5M2});
  check_type(parts[1], {DType::kF16, DType::kBF16, DType::kF32, DType::kU8});
  const std::vector<int64_t> shape = parts[0].tensor.shape;
  if (shape.size() < 2) {
    fail(ErrorCode::kUnsupported, fmt::format("{}: shape: found {} with a scale, read are matrices",
                                              where(parts[0]), format_shape(shape)));
  }
  const ScaleGrid grid = grid_of(parts[0], parts[1], config);
  const int64_t n_rows = parts[0].tensor.n_rows();
  const MappedFile* file = parts[0].file;
  auto reader = std::make_shared<Fp8Rows>(std::move(parts), grid, n_rows, shape[shape.size() - 2]);
  return make_computed(module.prefix(), DType::kBF16, shape, file, std::move(reader));
}

}  // namespace fathom::weights
