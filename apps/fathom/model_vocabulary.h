// The vocabulary of a model without its weights.
// Called by tokenize.cc, template.cc, inspect_prompt.cc. Read next: codec/tokenizer_files.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codec/tokenizer.h"

namespace fathom::app {

// `path`: a GGUF file (tensors are not needed), a Hugging Face folder, tokenizer.json, a
// SentencePiece model or a .tiktoken file. Overrides change keys of a GGUF file or config.json.
// Errors: those of weights::open_model, api::apply_overrides, codec::open_tokenizer;
// UsageError for overrides of a tokenizer's file.
std::unique_ptr<codec::Tokenizer> open_vocabulary(const std::string& path,
                                                  const std::vector<std::string>& overrides);

}  // namespace fathom::app
