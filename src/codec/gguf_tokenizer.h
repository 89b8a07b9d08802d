// The tokenizers that GGUF files describe, put together from stages.
// Called by codec/tokenizer. Read next: codec/gguf_tokenizer.cc, codec/gguf_fixups.h.
#pragma once

#include "codec/text_tokenizer.h"
#include "weights/metadata.h"

namespace fathom::codec {

// The stages for `tokenizer.ggml.model` gpt2, llama, t5 or bert. Errors: kUnsupported (model or
// pre-tokenizer not known, named), kCorruptFile (vocabulary, merges or character map broken).
Pipeline make_gguf_pipeline(const weights::Metadata& metadata);

}  // namespace fathom::codec
