// Sized once for all merges of the file.
// Called by codec/bpe. Read next: codec/bpe.cc.
#include "codec/merge_table.h"

#include <bit>

namespace fathom::codec {

MergeTable::MergeTable(size_t n_merges)
    : slots_(std::bit_ceil(n_merges + n_merges / 3 + 16)),
      shift_(64 - std::countr_zero(slots_.size())) {}

void MergeTable::insert(TokenId left, TokenId right, Merge merge, bool last_wins) {
  const uint64_t key = key_of(left, right);
  Slot& slot = slots_[slot_of(key)];
  if (slot.key == kFree || last_wins) {
    slot = {key, merge};
  }
}

}  // namespace fathom::codec
