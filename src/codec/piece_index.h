// Text to token id: an open-addressing hash table over the texts of a vocabulary.
// Called by the models of codec, codec/text_tokenizer. Read next: codec/bpe.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/tokenizer.h"

namespace fathom::codec {

// A fast hash of a short text; equal on all machines of one byte order.
uint64_t hash_text(std::string_view text);

class PieceIndex {
 public:
  // `texts` [n_vocab], the texts by id, must outlive the index and stay where they are. Nothing is
  // in the index yet.
  explicit PieceIndex(std::span<const std::string> texts);

  // Adds texts[id]; empty ones are left out. Of two equal texts the first stays. Gives false when
  // an equal one was there.
  bool insert(TokenId id);

  // The same for many, in their order, several look-ups at a time.
  void insert_all(std::span<const TokenId> ids);

  // Adds another text for `id`.
  void insert_alias(std::string text, TokenId id);

  // Thread rule: any thread once all are inserted.
  [[nodiscard]] std::optional<TokenId> find(std::string_view text) const;

  // The same in two steps, so that many look-ups can wait for memory at the same time.
  void prefetch(uint64_t hash) const { __builtin_prefetch(&slots_[slot_start(hash)]); }

  void prefetch_text(uint64_t hash) const {
    const Slot& slot = slots_[slot_start(hash)];
    if (slot.entry >= 0 && static_cast<size_t>(slot.entry) < texts_.size()) {
      __builtin_prefetch(&texts_[static_cast<size_t>(slot.entry)]);
    }
  }

  // -1: not there.
  [[nodiscard]] TokenId find_hashed(std::string_view text, uint64_t hash) const {
    const int32_t entry = slots_[slot_of(text, hash)].entry;
    const auto i = static_cast<size_t>(entry);
    return entry < 0 || i < texts_.size() ? entry : aliases_[i - texts_.size()].id;
  }

  // The longest text in bytes.
  [[nodiscard]] size_t longest() const { return longest_; }

  // The texts that the index was made over.
  [[nodiscard]] std::span<const std::string> texts() const { return texts_; }

 private:
  struct Slot {
    uint32_t hash = 0;
    int32_t entry = -1;  // id, or texts_.size() + place in aliases_; -1: free
  };

  struct Alias {
    std::string text;
    TokenId id;
  };

  [[nodiscard]] size_t slot_start(uint64_t hash) const {
    return static_cast<size_t>(hash >> 32) & (slots_.size() - 1);
  }

  [[nodiscard]] std::string_view text_of(int32_t entry) const {
    const auto i = static_cast<size_t>(entry);
    return i < texts_.size() ? std::string_view(texts_[i])
                             : std::string_view(aliases_[i - texts_.size()].text);
  }

  // The slot that holds `text`, or the free one where it belongs.
  [[nodiscard]] size_t slot_of(std::string_view text, uint64_t hash) const {
    const size_t mask = slots_.size() - 1;
    const auto low = static_cast<uint32_t>(hash);
    size_t at = slot_start(hash);
    while (slots_[at].entry >= 0 && (slots_[at].hash != low || text_of(slots_[at].entry) != text)) {
      at = (at + 1) & mask;
    }
    return at;
  }

  bool insert_entry(std::string_view text, uint64_t hash, int32_t entry);

  std::span<const std::string> texts_;
  std::deque<Alias> aliases_;
  std::vector<Slot> slots_;  // a power of two, at most three quarters full
  size_t n_used_ = 0;
  size_t longest_ = 0;
};

// The index over vocabulary.texts, which must outlive it, with the entries of the kinds that
// `is_piece` names.
PieceIndex index_pieces(const Vocabulary& vocabulary, bool (*is_piece)(TokenKind kind));

}  // namespace fathom::codec
