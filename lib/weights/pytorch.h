// Reads what torch.save wrote of a state_dict: a ZIP archive, or the layout of torch before 1.6.
// Called by weights/hf_folder and the fuzz target. Read next: pytorch.cc, torch_pickle.h.
// Source: torch/serialization.py (_save, _legacy_save).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/mapped_file.h"
#include "weights/tensor_store.h"

namespace fathom::weights {

// Adds every tensor of the file's `bytes` to `out`. Nothing in the file is executed: the pickle is
// read as data. Tensors point into `bytes`, those that do not lie in order have a RowReader over
// them; `file` is the mapping behind `bytes`, or nullptr for memory of the caller, which must then
// outlive `out`. `name` is the file, for errors. Element types: float32, float16, bfloat16,
// float64, float8_e4m3fn, float8_e5m2, int8, int16, int32, int64, and uint8 and bool as U8. Errors:
// kUnsupported (another opcode, global, element type or byte order; compressed entries),
// kCorruptFile (see zip_archive.h, pickle.h, torch_pickle.h; a storage that is missing or has
// another size, names that stand twice); each names file, byte offset, found and allowed.
void parse_pytorch(std::span<const std::byte> bytes, std::string_view name, const MappedFile* file,
                   TensorStore& out);

// Maps a file and adds its tensors to `out`, which then keeps the mapping.
void add_pytorch_file(const std::string& path, TensorStore& out);

}  // namespace fathom::weights
