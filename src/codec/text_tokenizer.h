// What byte-level and SentencePiece tokenizers share: added tokens, BOS and EOS, look-ups,
// decoding. Called by codec/tokenizer.cc. Read next: codec/bpe.h, codec/sentencepiece.h.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/added_tokens.h"
#include "codec/piece_index.h"
#include "codec/tokenizer.h"
#include "weights/metadata.h"

namespace fathom::codec {

class TextTokenizer : public Tokenizer {
 public:
  TextTokenizer(const weights::Metadata& metadata, Vocabulary vocabulary);

  [[nodiscard]] std::vector<TokenId> encode(std::string_view text,
                                            const EncodeOptions& options) const final;
  [[nodiscard]] std::string bytes_of(TokenId id, bool special) const final;
  [[nodiscard]] std::string decode(std::span<const TokenId> ids, bool special) const final;

  [[nodiscard]] bool strips_first_blank() const final { return vocabulary_.add_space_prefix; }

  [[nodiscard]] const Vocabulary& vocabulary() const final { return vocabulary_; }

  [[nodiscard]] std::vector<TokenId> end_tokens() const final;
  [[nodiscard]] std::optional<TokenId> find(std::string_view stored_text) const final;

 protected:
  // Adds the ids of a text without added tokens; `text` is valid UTF-8 and not empty.
  virtual void encode_text(std::string_view text, std::vector<TokenId>& out) const = 0;

  // Bytes of an entry that is no control token.
  [[nodiscard]] virtual std::string piece_bytes(TokenId id) const = 0;

  [[nodiscard]] const std::string& text_of(TokenId id) const {
    return vocabulary_.texts[static_cast<size_t>(id)];
  }

  [[nodiscard]] TokenKind kind_of(TokenId id) const {
    return vocabulary_.kinds[static_cast<size_t>(id)];
  }

 private:
  Vocabulary vocabulary_;
  PieceIndex index_;  // stored text to id
  AddedTokens added_;
};

}  // namespace fathom::codec
