// What a GGUF file leaves out of a tokenizer and the reference does all the same: the one place
// where names of families decide. Called by codec/tokenizer. Read next: codec/gguf_fixups.cc, the
// table.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "codec/presplit.h"
#include "codec/tokenizer.h"
#include "weights/metadata.h"

namespace fathom::codec {

// How a text becomes pieces, by `tokenizer.ggml.model`.
enum class TokenizerModel { kByteLevelBpe, kSentencePieceBpe, kUnigram, kWordPiece };

// What `tokenizer.ggml.pre` stands for in byte-level vocabularies.
struct GgufPreTokenizer {
  std::string_view name;
  SplitRule split;
  bool nfc = false;            // the text is normalized to form C first
  bool ignore_merges = false;  // a word that is a piece as a whole stays whole
  bool add_bos = false;        // when the file does not say
};

// Error: kUnsupported for a model that is not there yet; the message names it.
TokenizerModel find_model(const weights::Metadata& metadata);

// Error: kUnsupported for a missing or unknown name; the message has model and name.
const GgufPreTokenizer& find_pre_tokenizer(const weights::Metadata& metadata);

// Whether a token that is matched in raw text takes the white space before or after it along.
bool strips_left(const weights::Metadata& metadata, std::string_view token_text);
bool strips_right(const weights::Metadata& metadata, std::string_view token_text, TokenKind kind);

}  // namespace fathom::codec
