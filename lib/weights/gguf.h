// Reads GGUF files, version 2 and 3, little endian: metadata and the table of tensors.
// Called by weights/gguf_split and the fuzz target. Read next: gguf.cc, gguf_metadata.h,
// tensor_check.h.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/mapped_file.h"
#include "weights/model_file.h"

namespace fathom::weights {

// Parses a whole file's `bytes` into `out` (empty, its metadata carries the file's name). Tensors
// point into `bytes`; `file` is the mapping behind them, or nullptr for memory of the caller, which
// must then outlive `out`. Decoded metadata and tables take at most 48 MiB more than the bytes that
// follow them in the file, so a hostile file cannot make the process much larger than itself.
// Errors: kUnsupported (version, big endian, a tensor type that Fathom does not read),
// kCorruptFile; each names file, byte offset, field, found and allowed.
void parse_gguf(std::span<const std::byte> bytes, const MappedFile* file, ModelFile& out);

// The same with both halves apart; `tensors` may hold those of other parts already.
void parse_gguf(std::span<const std::byte> bytes, const MappedFile* file, Metadata& metadata,
                TensorStore& tensors);

// Maps and parses a file; `metadata` is empty and carries the path. `tensors` keeps the mapping.
// Errors: those of MappedFile and parse_gguf.
void add_gguf_file(const std::string& path, Metadata& metadata, TensorStore& tensors);

}  // namespace fathom::weights
