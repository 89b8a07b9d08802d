// Unigram: of all ways to cut a word into pieces, the one with the highest sum of scores.
// Called by codec/gguf_tokenizer, codec/json_models, codec/sentencepiece_file. Read next:
// codec/unigram.cc. Source: arXiv 1804.10959, section 3; Viterbi.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "codec/blank_cuts.h"
#include "codec/piece_index.h"
#include "codec/piece_model.h"

namespace fathom::codec {

class UnigramModel final : public PieceModel {
 public:
  struct Options {
    std::optional<TokenId> unk;
    bool byte_fallback = false;       // an unknown character becomes its bytes
    bool fuses_unknown = true;        // unknown characters in a row are one token
    bool rates_user_defined = false;  // SentencePiece's bonus for user-defined pieces
    bool cuts_at_blanks = true;       // words may be cut before a blank where no piece forbids it
  };

  // `vocabulary` (texts, scores, kinds) must outlive the model. Pieces are the entries of kind
  // kNormal, kUserDefined, and with is_piece any other. `where` is for errors: kCorruptFile when
  // scores are missing.
  UnigramModel(const Vocabulary& vocabulary, std::vector<bool> is_piece, std::string_view where,
               Options options);

  [[nodiscard]] std::unique_ptr<Run> start() const override;
  [[nodiscard]] std::optional<TokenId> find(std::string_view stored_text) const override;

 private:
  class Viterbi;  // one encode call

  // The pieces as a tree of bytes, its edges in a hash table: (node, byte) to node.
  struct Edge {
    uint32_t node = 0;
    uint32_t key = 0;  // node it starts from << 8 | byte, plus 1; 0: free
    int32_t id = -1;   // the piece that ends here
  };

  void insert(std::string_view text, TokenId id);
  [[nodiscard]] const Edge* step(uint32_t node, unsigned char byte) const;
  [[nodiscard]] size_t slot_of(uint32_t key) const;

  const Vocabulary* vocabulary_;
  Options options_;
  PieceIndex index_;
  std::vector<Edge> edges_;
  uint32_t n_nodes_ = 1;
  std::vector<float> scores_;
  double unk_score_ = 0;
  std::array<TokenId, 256> byte_ids_{};  // -1: no such token
  BlankCuts cuts_;
  bool may_cut_ = false;
};

}  // namespace fathom::codec
