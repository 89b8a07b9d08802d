// SentencePiece BPE: characters are merged by the score of the piece they form; what is in no piece
// falls back to its bytes.
// Called by codec/gguf_tokenizer, codec/sentencepiece_file. Source: SentencePiece, bpe_model.cc;
// arXiv 1808.06226.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "codec/blank_cuts.h"
#include "codec/piece_index.h"
#include "codec/piece_model.h"
#include "codec/text_set.h"

namespace fathom::codec {

class SentencePieceModel final : public PieceModel {
 public:
  struct Options {
    bool freezes_user_defined = false;  // user-defined pieces in the text do not merge further
  };

  // `vocabulary` must outlive the model; `where` (file) is for errors. Errors: kCorruptFile when
  // there are no scores, or neither an unknown token nor all byte tokens.
  SentencePieceModel(const Vocabulary& vocabulary, std::string_view where, Options options);

  [[nodiscard]] std::unique_ptr<Run> start() const override;
  [[nodiscard]] std::optional<TokenId> find(std::string_view stored_text) const override;

  // Whether every text has pieces that spell it: all bytes, and the blank.
  [[nodiscard]] bool spells_all() const { return has_all_bytes_ && has_blank_; }

 private:
  class Merger;  // one encode call

  // Adds the ids of a character that is no piece.
  void add_unknown(std::string_view character, std::vector<TokenId>& out) const;

  const Vocabulary* vocabulary_;
  PieceIndex pieces_;                    // what merging may produce: no control or byte tokens
  std::array<TokenId, 256> byte_ids_{};  // -1: no such token
  bool has_all_bytes_ = false;
  bool has_blank_ = false;  // the blank is a piece, so no unknown run goes on across it
  BlankCuts cuts_;
  TextSet frozen_;  // user-defined pieces
};

}  // namespace fathom::codec
