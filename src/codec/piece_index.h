// Text to token id: an open-addressing hash table over the texts of a vocabulary.
// Called by the models of codec, codec/text_tokenizer. Read next: codec/bpe.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/huge_allocator.h"
#include "codec/tokenizer.h"

namespace fathom::codec {

// A fast hash of a short text; equal on all machines of one byte order.
uint64_t hash_text(std::string_view text);

// A text as a slot of the index knows it. Up to kWhole bytes the key is the text itself, so that a
// look-up touches nothing but its slot; of longer ones it has hash and size.
struct PieceKey {
  static constexpr size_t kWhole = 11;

  uint64_t low = 0;
  uint32_t high = 0;  // last byte: the size, or 255 for a longer text

  bool operator==(const PieceKey&) const = default;

  [[nodiscard]] bool is_whole() const { return high >> 24 != 255; }
};

inline PieceKey key_of(std::string_view text) {
  const char* at = text.data();
  const size_t size = text.size();
  const auto load = [&]<class Word>(size_t place, Word word) {
    std::memcpy(&word, at + place, sizeof(word));
    return uint64_t{word};
  };
  if (size > PieceKey::kWhole) {
    return {hash_text(text), 0xFF000000u | static_cast<uint32_t>(size & 0xFFFFFFu)};
  }
  PieceKey key{.high = static_cast<uint32_t>(size) << 24};
  if (size >= 8) {  // the last bytes once more, moved so that those that `low` has fall out
    key.low = load(0, uint64_t{});
    key.high |= static_cast<uint32_t>(load(size - 4, uint32_t{}) >> (8 * (12 - size)));
  } else if (size >= 4) {
    key.low = load(0, uint32_t{}) | load(size - 4, uint32_t{}) << (8 * (size - 4));
  } else if (size > 0) {
    key.low = load(0, uint8_t{}) | load(size / 2, uint8_t{}) << (8 * (size / 2)) |
              load(size - 1, uint8_t{}) << (8 * (size - 1));
  }
  return key;
}

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
  void prefetch(PieceKey key) const { __builtin_prefetch(&slots_[slot_start(key)]); }

  // -1: not there. `key` is that of `text`.
  [[nodiscard]] TokenId find(std::string_view text, PieceKey key) const {
    const int32_t entry = slots_[slot_of(text, key)].entry;
    const auto i = static_cast<size_t>(entry);
    return entry < 0 || i < texts_.size() ? entry : aliases_[i - texts_.size()].id;
  }

  // The longest text in bytes.
  [[nodiscard]] size_t longest() const { return longest_; }

  // The texts that the index was made over.
  [[nodiscard]] std::span<const std::string> texts() const { return texts_; }

 private:
  struct Slot {
    uint64_t low = 0;  // the key's
    uint32_t high = 0;
    int32_t entry = -1;  // id, or texts_.size() + place in aliases_; -1: free
  };

  struct Alias {
    std::string text;
    TokenId id;
  };

  [[nodiscard]] size_t slot_start(PieceKey key) const {
    const uint64_t mixed = (key.low ^ key.high * 0xD6E8FEB86659FD93u) * 0x9E3779B97F4A7C15u;
    return static_cast<size_t>(mixed ^ mixed >> 32) &
           (slots_.size() - 1);  // high bits know all bytes
  }

  [[nodiscard]] std::string_view text_of(int32_t entry) const {
    const auto i = static_cast<size_t>(entry);
    return i < texts_.size() ? std::string_view(texts_[i])
                             : std::string_view(aliases_[i - texts_.size()].text);
  }

  // The slot that holds `text`, or the free one where it belongs.
  [[nodiscard]] size_t slot_of(std::string_view text, PieceKey key) const {
    size_t at = slot_start(key);
    while (slots_[at].entry >= 0 && !holds(slots_[at], text, key)) {
      at = (at + 1) & (slots_.size() - 1);
    }
    return at;
  }

  [[nodiscard]] bool holds(const Slot& slot, std::string_view text, PieceKey key) const {
    return slot.low == key.low && slot.high == key.high &&
           (key.is_whole() || text_of(slot.entry) == text);
  }

  bool insert_entry(std::string_view text, PieceKey key, int32_t entry);

  std::span<const std::string> texts_;
  std::deque<Alias> aliases_;
  std::vector<Slot, HugeAllocator<Slot>> slots_;  // a power of two, at most three quarters full
  size_t n_used_ = 0;
  size_t longest_ = 0;
};

// The index over vocabulary.texts, which must outlive it, with the entries of the kinds that
// `is_piece` names.
PieceIndex index_pieces(const Vocabulary& vocabulary, bool (*is_piece)(TokenKind kind));

}  // namespace fathom::codec
