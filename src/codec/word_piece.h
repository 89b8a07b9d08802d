// WordPiece: the longest piece from the left, again and again; and WordLevel: the word or nothing.
// Called by codec/gguf_tokenizer, codec/json_models. Read next: codec/word_piece.cc. Source: BERT's
// tokenization.py.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "codec/piece_index.h"
#include "codec/piece_model.h"

namespace fathom::codec {

struct WordPieceOptions {
  std::optional<TokenId> unk;     // without it an unknown word is an error
  std::string continuing_prefix;  // before pieces inside a word ("##")
  std::string first_prefix;       // before pieces at its begin (GGUF: U+2581)
  size_t most_characters = 100;   // a longer word is unknown
  bool whole_words = false;       // WordLevel
};

class WordPieceModel final : public PieceModel {
 public:
  WordPieceModel(PieceIndex index, WordPieceOptions options);

  // Error of a run: kUnsupported for a word that is unknown when there is no unknown token.
  [[nodiscard]] std::unique_ptr<Run> start() const override;
  [[nodiscard]] std::optional<TokenId> find(std::string_view stored_text) const override;

 private:
  class Matcher;  // one encode call

  PieceIndex index_;
  WordPieceOptions options_;
};

}  // namespace fathom::codec
