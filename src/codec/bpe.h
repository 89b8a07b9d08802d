// Byte-pair encoding: a word is cut into bytes or characters, then the best-ranked pair is merged
// until no rule is left.
// Called by codec/gguf_tokenizer, codec/json_models, codec/tiktoken. Read next: codec/bpe.cc.
// Source: arXiv 1508.07909, section 3.2; GPT-2.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/blank_cuts.h"
#include "codec/merge_table.h"
#include "codec/piece_index.h"
#include "codec/piece_model.h"

namespace fathom::codec {

struct BpeOptions {
  // Words are raw bytes, and the vocabulary spells them in the byte alphabet. Otherwise words are
  // characters, spelled as they are.
  bool byte_level = false;
  bool ignore_merges = false;  // a word that is a piece as a whole stays whole
  bool byte_fallback = false;  // an unknown character becomes its bytes <0x00> ... <0xFF>
  bool fuse_unk = false;       // unknown characters in a row are one token
  std::optional<TokenId> unk = {};
  std::string missing_unk =
      {};  // unknown token that the vocabulary lacks: needing it is kCorruptFile
  std::string continuing_prefix = {};  // before every symbol of a word but the first
  std::string end_suffix = {};         // after its last symbol
};

class BpeModel final : public PieceModel {
 public:
  // `byte_ids` are looked up in `index` as the options say; a byte that is not there is left out.
  BpeModel(PieceIndex index, MergeTable merges, BpeOptions options);

  [[nodiscard]] std::unique_ptr<Run> start() const override;
  [[nodiscard]] std::optional<TokenId> find(std::string_view stored_text) const override;

  // Whether all 256 bytes are in the vocabulary (byte-level: their letters; else <0x00> to <0xFF>).
  [[nodiscard]] bool has_all_bytes() const;

 private:
  class WordRun;  // one encode call

  PieceIndex index_;
  MergeTable merges_;
  BpeOptions options_;
  std::array<TokenId, 256> byte_ids_{};  // -1: the vocabulary has no such byte
  std::optional<BlankCuts> cuts_;        // character mode, where cutting at blanks is safe
};

}  // namespace fathom::codec
