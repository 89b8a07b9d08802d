// How the entries of a SentencePiece vocabulary decode.
// Called by codec/gguf_tokenizer, codec/sentencepiece_file. Read next: codec/decode_chain.h.
#pragma once

#include <string>
#include <vector>

#include "codec/tokenizer.h"

namespace fathom::codec {

// [n_vocab]: a byte, or the text with blanks for U+2581; control tokens as they are.
std::vector<std::string> list_piece_texts(const Vocabulary& vocabulary);

}  // namespace fathom::codec
