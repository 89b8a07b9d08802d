// Merge rules spelled as texts turned into a table of ids, many look-ups at a time.
// Called by codec/gguf_tokenizer, codec/json_models. Read next: codec/merge_table.h.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/huge_allocator.h"
#include "codec/merge_table.h"
#include "codec/piece_index.h"

namespace fathom::codec {

struct MergeRule {
  std::string_view left, right;
};

using MergeRules = std::vector<MergeRule, HugeAllocator<MergeRule>>;

struct MergeOptions {
  size_t continuing_prefix = 0;  // bytes that a right piece loses when it is joined
  bool last_wins = false;        // of two rules for one pair the later counts
  // Called with rank and text for the first rule with a piece that is not in the index; must throw.
  std::function<void(size_t rank, std::string_view missing)> on_missing;
  int n_threads = 0;  // 0: as many as are useful, at most 4
};

// `rules` in order of rank. The table is the same whatever the number of threads.
MergeTable make_merge_table(const PieceIndex& index, std::span<const MergeRule> rules,
                            const MergeOptions& options);

}  // namespace fathom::codec
