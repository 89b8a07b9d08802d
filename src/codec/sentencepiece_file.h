// Reads tokenizer.model, the file of SentencePiece.
// Called by codec/tokenizer_files. Read next: codec/sentencepiece_file.cc, codec/wire_reader.h.
#pragma once

#include <string_view>

#include "codec/text_tokenizer.h"

namespace fathom::codec {

// The stages that the file describes: a text is normalized and cut as SentencePiece does. BOS is
// added before a text, or, where the model has no BOS, EOS after it (a folder's other files may say
// otherwise). Errors: kCorruptFile
// for broken fields, scores or pieces; kUnsupported for the models "word" and "char".
Pipeline read_sentencepiece_model(std::string_view bytes, std::string_view path);

}  // namespace fathom::codec
