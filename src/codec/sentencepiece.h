// SentencePiece BPE: characters are merged by the score of the piece they form; what is in no piece
// falls back to its bytes.
// Called by codec/tokenizer. Source: SentencePiece, bpe_model.cc; arXiv 1808.06226.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "codec/text_tokenizer.h"

namespace fathom::codec {

class SentencePieceTokenizer final : public TextTokenizer {
 public:
  // Errors: kCorruptFile when there are no scores, or neither an unknown token nor all byte tokens.
  SentencePieceTokenizer(const weights::Metadata& metadata, Vocabulary vocabulary);

 private:
  struct Merger;  // the merging of one text

  void encode_text(std::string_view text, std::vector<TokenId>& out) const override;
  [[nodiscard]] std::string piece_bytes(TokenId id) const override;

  // The end of the stretch that begins at `begin` and that no piece reaches across: before a blank
  // that follows a character which stands before a blank in no piece.
  [[nodiscard]] size_t find_cut(std::string_view text, size_t begin) const;

  // The ids of a character that is no piece.
  void add_unknown(std::string_view character, std::vector<TokenId>& out) const;

  std::deque<std::string> respelled_;    // pieces stored with blanks, with U+2581 for them
  PieceIndex pieces_;                    // what merging may produce: no control or byte tokens
  std::array<TokenId, 256> byte_ids_{};  // -1: no such token
  bool has_all_bytes_ = false;
  std::unordered_set<char32_t> before_blank_;  // characters that some piece has before a blank
};

}  // namespace fathom::codec
