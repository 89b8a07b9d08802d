// Linear probing; a slot of 16 bytes holds the key, for most pieces the whole text.
// Called by the models of codec, codec/text_tokenizer. Read next: codec/bpe.cc.
#include "codec/piece_index.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace fathom::codec {

namespace {

constexpr uint64_t kFactor = 0x9E3779B97F4A7C15u;
constexpr size_t kBatch = 32;  // look-ups that wait for memory together

uint64_t load(const char* at, size_t n_bytes) {
  uint64_t word = 0;
  std::memcpy(&word, at, n_bytes);
  return word;
}

uint64_t mix(uint64_t state, uint64_t word) {
  state = (state ^ word) * kFactor;
  return state ^ (state >> 29);
}

}  // namespace

uint64_t hash_text(std::string_view text) {
  const char* at = text.data();
  const size_t size = text.size();
  uint64_t state = size * 0xD6E8FEB86659FD93u;
  if (size >= 8) {
    for (size_t i = 0; i + 8 < size; i += 8) {
      state = mix(state, load(at + i, 8));
    }
    state = mix(state, load(at + size - 8, 8));
  } else if (size >= 4) {
    state = mix(state, load(at, 4) << 32 | load(at + size - 4, 4));
  } else if (size > 0) {
    state = mix(state, load(at, 1) << 16 | load(at + size / 2, 1) << 8 | load(at + size - 1, 1));
  }
  state *= 0xBF58476D1CE4E5B9u;
  return state ^ (state >> 32);
}

PieceIndex::PieceIndex(std::span<const std::string> texts)
    : texts_(texts), slots_(std::bit_ceil(texts.size() + texts.size() / 3 + 16)) {}

bool PieceIndex::insert_entry(std::string_view text, PieceKey key, int32_t entry) {
  if (4 * (n_used_ + 1) > 3 * slots_.size()) {
    std::vector<Slot, HugeAllocator<Slot>> old(slots_.size() * 2);
    std::swap(old, slots_);
    for (const Slot& slot : old) {
      if (slot.entry >= 0) {
        const std::string_view moved = text_of(slot.entry);
        slots_[slot_of(moved, {slot.low, slot.high})] = slot;
      }
    }
  }
  Slot& slot = slots_[slot_of(text, key)];
  if (slot.entry >= 0) {
    return false;
  }
  slot = {key.low, key.high, entry};
  longest_ = std::max(longest_, text.size());
  ++n_used_;
  return true;
}

bool PieceIndex::insert(TokenId id) {
  const std::string& text = texts_[static_cast<size_t>(id)];
  return text.empty() || insert_entry(text, key_of(text), id);
}

void PieceIndex::insert_all(std::span<const TokenId> ids) {
  std::array<PieceKey, kBatch> keys;
  while (!ids.empty()) {
    const size_t n = std::min(kBatch, ids.size());
    for (size_t i = 0; i < n; ++i) {
      keys[i] = key_of(texts_[static_cast<size_t>(ids[i])]);
      prefetch(keys[i]);
    }
    for (size_t i = 0; i < n; ++i) {
      const std::string& text = texts_[static_cast<size_t>(ids[i])];
      if (!text.empty()) {
        insert_entry(text, keys[i], ids[i]);
      }
    }
    ids = ids.subspan(n);
  }
}

void PieceIndex::insert_alias(std::string text, TokenId id) {
  const auto entry = static_cast<int32_t>(texts_.size() + aliases_.size());
  aliases_.push_back({std::move(text), id});
  const std::string& added = aliases_.back().text;
  if (!insert_entry(added, key_of(added), entry)) {
    aliases_.pop_back();
  }
}

PieceIndex index_pieces(const Vocabulary& vocabulary, bool (*is_piece)(TokenKind kind)) {
  PieceIndex index(vocabulary.texts);
  std::vector<TokenId> ids;
  ids.reserve(vocabulary.texts.size());
  for (size_t id = 0; id < vocabulary.texts.size(); ++id) {
    if (is_piece(vocabulary.kinds[id])) {
      ids.push_back(static_cast<TokenId>(id));
    }
  }
  index.insert_all(ids);
  return index;
}

std::optional<TokenId> PieceIndex::find(std::string_view text) const {
  const TokenId id = find(text, key_of(text));
  return id < 0 ? std::nullopt : std::optional(id);
}

}  // namespace fathom::codec
