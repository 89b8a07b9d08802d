// Opens a tokenizer by path, whatever its format.
// Called by codec/tokenizer, apps. Read next: codec/tokenizer_json.h, codec/sentencepiece_file.h,
// codec/tiktoken.h, codec/gguf_tokenizer.h.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "codec/tokenizer.h"

namespace fathom::codec {

// `path`: a GGUF file, tokenizer.json, a SentencePiece model, a .tiktoken file (with tiktoken.json
// beside it), or a Hugging Face folder. Of a folder the first of tokenizer.json, tokenizer.model
// and
// *.tiktoken is read, and what stands beside: BOS, EOS and whether they are added
// (tokenizer_config.json, special_tokens_map.json), more end tokens (generation_config.json), the
// chat templates (chat_template.jinja and additional_chat_templates/*.jinja, or in
// tokenizer_config.json). Errors: kNotFound,
// kUnsupported, kCorruptFile, as the readers.
std::unique_ptr<Tokenizer> open_tokenizer(const std::string& path);

// Whether a file begins as GGUF does, whatever its name. Error: kNotFound.
bool is_gguf(const std::string& path);

// The tokenizer file of a folder that open_tokenizer would read; nothing when there is none.
std::optional<std::string> find_tokenizer_file(const std::string& folder);

}  // namespace fathom::codec
