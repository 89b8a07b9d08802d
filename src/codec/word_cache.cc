// Open addressing; texts and ids lie in two arenas, so that a slot is three to a cache line.
// Called by codec/bpe, codec/sentencepiece, codec/unigram, codec/word_piece. Read next:
// codec/bpe.cc.
#include "codec/word_cache.h"

#include <cstring>
#include <utility>

namespace fathom::codec {

namespace {

constexpr size_t kFirstSlots = 256;
constexpr size_t kMostSlots = size_t{1} << 18;
constexpr size_t kLongestWord = 200;

}  // namespace

WordCache::WordCache() : slots_(kFirstSlots) {}

bool WordCache::find(std::string_view word, uint64_t hash, std::vector<TokenId>& out) const {
  const size_t mask = slots_.size() - 1;
  for (size_t at = hash & mask; slots_[at].text_size != 0; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.hash == hash && slot.text_size == word.size() &&
        std::memcmp(texts_.data() + slot.text_at, word.data(), word.size()) == 0) {
      if (slot.n_ids == 1) {
        out.push_back(ids_[slot.ids_at]);
      } else {
        const auto* ids = ids_.data() + slot.ids_at;
        out.insert(out.end(), ids, ids + slot.n_ids);
      }
      return true;
    }
  }
  return false;
}

void WordCache::resize(size_t n_slots) {
  std::vector<Slot> old(n_slots);
  std::swap(old, slots_);
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.text_size != 0) {
      size_t at = slot.hash & mask;
      while (slots_[at].text_size != 0) {
        at = (at + 1) & mask;
      }
      slots_[at] = slot;
    }
  }
}

void WordCache::insert(std::string_view word, uint64_t hash, std::span<const TokenId> ids) {
  if (word.empty() || word.size() > kLongestWord || ids.size() > UINT16_MAX) {
    return;
  }
  if (2 * (n_used_ + 1) > slots_.size()) {
    if (slots_.size() == kMostSlots) {
      slots_.assign(slots_.size(), {});
      texts_.clear();
      ids_.clear();
      n_used_ = 0;
    } else {
      resize(slots_.size() * 4);
    }
  }
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  while (slots_[at].text_size != 0) {
    at = (at + 1) & mask;
  }
  slots_[at] = {hash, static_cast<uint32_t>(texts_.size()), static_cast<uint32_t>(ids_.size()),
                static_cast<uint16_t>(word.size()), static_cast<uint16_t>(ids.size())};
  texts_ += word;
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  ++n_used_;
}

}  // namespace fathom::codec
