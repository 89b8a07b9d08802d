// Text to token id: an open-addressing hash table over texts that live elsewhere.
// Called by codec/text_tokenizer, codec/sentencepiece. Read next: codec/bpe.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "codec/tokenizer.h"

namespace fathom::codec {

class PieceIndex {
 public:
  // Room for `n_pieces` without growing.
  explicit PieceIndex(size_t n_pieces);

  // Adds `text`, whose bytes must outlive the index. The first of two equal texts stays.
  void insert(std::string_view text, TokenId id);

  // Thread rule: any thread once all are inserted.
  [[nodiscard]] std::optional<TokenId> find(std::string_view text) const;

 private:
  struct Slot {
    std::string_view text;
    uint32_t hash = 0;
    TokenId id = -1;  // -1: free
  };

  // The slot that holds `text`, or the free one where it belongs.
  [[nodiscard]] size_t slot_of(std::string_view text, uint32_t hash) const;
  void grow();

  std::vector<Slot> slots_;  // a power of two, at most half full
  size_t n_used_ = 0;
};

}  // namespace fathom::codec
