// Linear probing; the stored hash spares most comparisons.
// Called by codec/text_tokenizer, codec/sentencepiece. Read next: codec/bpe.cc.
#include "codec/piece_index.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace fathom::codec {

namespace {

// Eight bytes a step, multiply and fold; short pieces take one or two steps.
uint32_t hash_of(std::string_view text) {
  constexpr uint64_t kFactor = 0x9E3779B97F4A7C15u;
  uint64_t state = text.size() * kFactor;
  for (size_t at = 0; at < text.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min<size_t>(8, text.size() - at));
    state = (state ^ word) * kFactor;
    state ^= state >> 32;
  }
  return static_cast<uint32_t>(state ^ (state >> 29));
}

}  // namespace

PieceIndex::PieceIndex(size_t n_pieces) : slots_(std::bit_ceil(2 * n_pieces + 16)) {}

size_t PieceIndex::slot_of(std::string_view text, uint32_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  while (slots_[at].id >= 0 && (slots_[at].hash != hash || slots_[at].text != text)) {
    at = (at + 1) & mask;
  }
  return at;
}

void PieceIndex::insert(std::string_view text, TokenId id) {
  if (2 * (n_used_ + 1) > slots_.size()) {
    grow();
  }
  const uint32_t hash = hash_of(text);
  Slot& slot = slots_[slot_of(text, hash)];
  if (slot.id < 0) {
    slot = {text, hash, id};
    ++n_used_;
  }
}

std::optional<TokenId> PieceIndex::find(std::string_view text) const {
  const Slot& slot = slots_[slot_of(text, hash_of(text))];
  return slot.id < 0 ? std::nullopt : std::optional(slot.id);
}

void PieceIndex::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  std::swap(old, slots_);
  for (const Slot& slot : old) {
    if (slot.id >= 0) {
      slots_[slot_of(slot.text, slot.hash)] = slot;
    }
  }
}

}  // namespace fathom::codec
