// The checks that both file formats share: sizes from shapes, and ranges that must not overlap.
// Called by weights/gguf, weights/safetensors. Read next: quant/formats.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace fathom::weights {

inline constexpr int64_t kMaxDim = int64_t{1} << 40;

// Bytes of a tensor of `type` and `shape` [outer, ..., inner] with dimensions of 1 to kMaxDim, or
// nothing when a row is no multiple of the type's block or the size does not fit 63 bits; `why`
// then holds what was found and what is allowed, for an error message.
struct TensorSize {
  std::optional<int64_t> n_bytes;
  std::string found;
  std::string allowed;
};

TensorSize size_of_tensor(DType type, std::span<const int64_t> shape);

// The bytes [begin, end) of a tensor in its file's data part.
struct TensorRange {
  uint64_t begin;
  uint64_t end;
  uint64_t field_offset;  // where the file states it, for errors
  std::string_view name;
};

// Sorts `ranges` by begin; gives the index of the first one that starts before its predecessor
// ends, or nothing.
std::optional<size_t> find_overlap(std::vector<TensorRange>& ranges);

}  // namespace fathom::weights
