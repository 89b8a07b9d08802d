// How the entries of a SentencePiece vocabulary decode.
// Called by codec/gguf_tokenizer, codec/sentencepiece_file. Read next: codec/decode_chain.h.
#pragma once

#include <cstddef>
#include <string>

#include "codec/tokenizer.h"

namespace fathom::codec {

// Adds what entry `id` stands for: a byte, or the text with blanks for U+2581; control tokens as
// they are.
void append_piece_text(const Vocabulary& vocabulary, size_t id, std::string& out);

}  // namespace fathom::codec
