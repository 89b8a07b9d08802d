// Reads the key-value part of a GGUF file.
// Called by weights/gguf. Read next: weights/metadata.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weights/byte_reader.h"
#include "weights/metadata.h"

namespace fathom::weights {

// Bounds the memory that parsing takes beyond the file itself.
class DecodeBudget {
 public:
  // Counts `n_bytes` about to be allocated for something at `offset` of which `n_file_bytes` are
  // still to be read. Error: kCorruptFile when all so far exceeds 48 MiB + the rest of the file.
  void charge(uint64_t n_bytes, uint64_t n_file_bytes, size_t offset, const ByteReader& reader);

 private:
  uint64_t used_bytes_ = 0;
};

// Reads `n_keys` entries into `metadata`. Integers become int64 (UINT64 stays unsigned), floats
// double. Errors: kCorruptFile (unknown type, nested array, duplicate or empty key, a BOOL beside 0
// and 1, a type other than the one GGUF fixes for keys such as tokenizer.ggml.scores, and an
// alignment that is no power of two from 8 to 65536).
void read_gguf_metadata(ByteReader& reader, size_t n_keys, DecodeBudget& budget,
                        Metadata& metadata);

// general.alignment, 32 when the file has none; read_gguf_metadata has checked it.
int64_t gguf_alignment(const Metadata& metadata);

}  // namespace fathom::weights
