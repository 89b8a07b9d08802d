// Opens a GGUF model, whether it is one file or split into NAME-00001-of-0000N.gguf and so on.
// Called by weights/model_file. Read next: weights/gguf.h.
// Source: tools/gguf-split of llama.cpp (the keys split.no, split.count, split.tensors.count).
#pragma once

#include <memory>
#include <string>

#include "weights/model_file.h"

namespace fathom::weights {

// `path` is the file, or any part of a split model: all parts, which lie in one folder, are then
// opened. Metadata is the first part's and carries its path. Errors: those of MappedFile and
// parse_gguf; kNotFound (a part is missing), kCorruptFile (a name that is not that of a part, parts
// of different models or in the wrong place, a count of tensors that is not the stated one).
std::unique_ptr<ModelFile> open_gguf(const std::string& path);

}  // namespace fathom::weights
