// The merge rules of a byte-pair vocabulary: a pair of ids to rank and result.
// Called by codec/bpe. Read next: codec/bpe.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/huge_allocator.h"
#include "codec/tokenizer.h"

namespace fathom::codec {

class MergeTable {
 public:
  struct Merge {
    uint32_t rank = UINT32_MAX;  // position in the list; UINT32_MAX: there is no such rule
    TokenId result = -1;
  };

  explicit MergeTable(size_t n_merges);

  // Of two rules for one pair the first stays, or the last when `last_wins`.
  void insert(TokenId left, TokenId right, Merge merge, bool last_wins = false);

  // Thread rule: any thread once all are inserted.
  [[nodiscard]] Merge find(TokenId left, TokenId right) const {
    return slots_[slot_of(key_of(left, right))].merge;
  }

  void prefetch(TokenId left, TokenId right) const {
    __builtin_prefetch(&slots_[slot_start(key_of(left, right))]);
  }

 private:
  struct Slot {
    uint64_t key = kFree;
    Merge merge;
  };

  static constexpr uint64_t kFree = UINT64_MAX;  // no pair: ids are not negative

  static uint64_t key_of(TokenId left, TokenId right) {
    return (static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32) |
           static_cast<uint32_t>(right);
  }

  [[nodiscard]] size_t slot_start(uint64_t key) const {
    return static_cast<size_t>((key * 0x9E3779B97F4A7C15u) >> shift_);
  }

  [[nodiscard]] size_t slot_of(uint64_t key) const {
    size_t at = slot_start(key);
    while (slots_[at].key != key && slots_[at].key != kFree) {
      at = (at + 1) & (slots_.size() - 1);
    }
    return at;
  }

  std::vector<Slot, HugeAllocator<Slot>> slots_;  // a power of two, at most three quarters full
  int shift_;
};

}  // namespace fathom::codec
