// The words of one encode call with their ids: most words of a text come again.
// Called by codec/bpe, codec/sentencepiece, codec/unigram, codec/word_piece. Read next:
// codec/piece_index.h, whose hash it takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/tokenizer.h"

namespace fathom::codec {

class WordCache {
 public:
  WordCache();

  // Adds the ids of `word` to `out` if it is there; gives whether it was.
  bool find(std::string_view word, uint64_t hash, std::vector<TokenId>& out) const;

  // Keeps `ids` for `word`. Long words are not kept; a full cache begins anew.
  void insert(std::string_view word, uint64_t hash, std::span<const TokenId> ids);

 private:
  struct Slot {
    uint64_t hash = 0;
    uint32_t text_at = 0, ids_at = 0;
    uint16_t text_size = 0;  // 0: free
    uint16_t n_ids = 0;
  };

  void resize(size_t n_slots);

  std::vector<Slot> slots_;  // a power of two, at most half full
  size_t n_used_ = 0;
  std::string texts_;
  std::vector<TokenId> ids_;
};

}  // namespace fathom::codec
