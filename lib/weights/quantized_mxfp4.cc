// Turns pairs of neighbours (2i, 2i + 1) into the pairs (k, k + 16) of the block format.
// Called by weights/quantized_tensors. Source: the layout of the gpt-oss checkpoints, as
// transformers' integrations/mxfp4.py reads it.
#include "weights/quantized_mxfp4.h"

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <utility>

#include "base/error.h"
#include "quant/blocks.h"

namespace fathom::weights {

namespace {

constexpr int64_t kValues = quant::kBlockValues;
constexpr int64_t kBytes = kValues / 2;  // of the codes of a block

class Mxfp4Rows final : public RowReader {
 public:
  Mxfp4Rows(int64_t n_rows, int64_t n_blocks, std::vector<SourceTensor> sources)
      : n_blocks_(n_blocks), sources_(std::move(sources)), pages_(n_rows, &sources_, true) {}

  void read_rows(int64_t first, int64_t n_rows, std::byte* out) const override {
    const std::byte* codes = sources_[0].tensor.bytes.data();
    const std::byte* scales = sources_[1].tensor.bytes.data();
    const int64_t end = (first + n_rows) * n_blocks_;
    for (int64_t b = first * n_blocks_; b < end; ++b) {
      quant::BlockMXFP4 block;
      block.e = std::to_integer<uint8_t>(scales[b]);
      turn(codes + b * kBytes, block.qs);
      std::memcpy(out, &block, sizeof block);
      out += sizeof block;
    }
    pages_.note_rows(first, n_rows);
  }

  [[nodiscard]] size_t file_bytes() const override { return pages_.total_bytes(); }

 private:
  // Value k stands in half k % 2 of byte k / 2; it goes to half k / 16 of byte k % 16.
  static void turn(const std::byte* from, uint8_t* to) {
    for (int64_t i = 0; i < kBytes / 2; ++i) {
      const auto a = std::to_integer<uint32_t>(from[i]);               // values 2i, 2i + 1
      const auto b = std::to_integer<uint32_t>(from[i + kBytes / 2]);  // 16 more
      to[2 * i] = static_cast<uint8_t>((a & 15U) | (b & 15U) << 4);
      to[2 * i + 1] = static_cast<uint8_t>(a >> 4 | (b & 0xF0U));
    }
  }

  int64_t n_blocks_;  // of a row
  std::vector<SourceTensor> sources_;
  PageCounter pages_;
};

}  // namespace

SourceTensor make_mxfp4_tensor(ModuleTensors& module) {
  std::vector<SourceTensor> parts;
  parts.push_back(module.take("_blocks"));
  parts.push_back(module.take("_scales"));
  check_type(parts[0], {DType::kU8});  // also that its elements lie in order
  check_type(parts[1], {DType::kU8});
  std::vector<int64_t> shape = parts[0].tensor.shape;
  if (shape.size() < 3 || shape.back() != kBytes) {
    fail(ErrorCode::kCorruptFile,
         fmt::format("{}: shape: found {}, expected [..., rows, blocks, {}]", where(parts[0]),
                     format_shape(shape), kBytes));
  }
  shape.pop_back();
  check_shape(parts[1], shape, fmt::format("from {}_blocks", module.prefix()));
  const int64_t n_blocks = shape.back();
  shape.back() = n_blocks * kValues;
  int64_t n_rows = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) {
    n_rows *= shape[i];
  }
  const MappedFile* file = parts[0].file;
  auto reader = std::make_shared<Mxfp4Rows>(n_rows, n_blocks, std::move(parts));
  return make_computed(module.prefix(), DType::kMXFP4, std::move(shape), file, std::move(reader));
}

}  // namespace fathom::weights
