// Sizes and file numbers of every storage type.
// Called by weights (checks files), quant/pack. Source: ggml's GGUF document, "ggml_type".
#pragma once

#include <cstdint>
#include <optional>

#include "base/dtype.h"

namespace fathom::quant {

struct Format {
  DType type;
  int values_per_block;  // 1 for plain element types
  int bytes_per_block;
  int ggml_type;  // number in GGUF files; -1 when GGUF has none
};

const Format& format_of(DType type);

// The type with this number in GGUF files, if Fathom reads it.
std::optional<DType> find_ggml_type(uint32_t ggml_type);

// Bytes of a row of `n_cols` values; n_cols must be a multiple of values_per_block (checked by the
// callers that read files).
int64_t row_bytes(DType type, int64_t n_cols);

}  // namespace fathom::quant
