// Reads safetensors files: a JSON header and the bytes of the tensors behind it.
// Called by weights/hf_folder and the fuzz target. Read next: weights/json.h.
// Source: the format description of huggingface/safetensors.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/mapped_file.h"
#include "weights/tensor_store.h"

namespace fathom::weights {

// Adds every tensor of the file's `bytes` to `out`. They point into `bytes`; `file` is the mapping
// behind them, or nullptr for memory of the caller, which must then outlive `out`. `name` is the
// file, for errors. Element types F32, F16, BF16, F64, F8_E4M3, F8_E5M2, I8, I16,
// I32, I64, U8, and BOOL as U8.
// Errors: kUnsupported (another element type), kCorruptFile (header length, JSON, shapes, sizes,
// ranges that overlap, leave a hole or pass the end, names that stand twice); each names file, byte
// offset, tensor, found and allowed.
void parse_safetensors(std::span<const std::byte> bytes, std::string_view name,
                       const MappedFile* file, TensorStore& out);

// Maps a file and adds its tensors to `out`, which then keeps the mapping.
void add_safetensors_file(const std::string& path, TensorStore& out);

}  // namespace fathom::weights
