// Reads tokenizer.json, the file that Hugging Face tokenizers writes.
// Called by codec/tokenizer_files. Read next: codec/tokenizer_json.cc, codec/json_models.h.
#pragma once

#include <string_view>

#include "codec/text_tokenizer.h"

namespace fathom::codec {

// The stages that the file describes. `text` is the file, `path` its name for messages. BOS, EOS
// and the chat template are not in it: see codec/tokenizer_files. Errors: kUnsupported for a stage
// that is not known (named), kCorruptFile for broken JSON, merges of unknown pieces, ids that are
// out of range or stand twice.
Pipeline read_tokenizer_json(std::string_view text, std::string_view path);

}  // namespace fathom::codec
