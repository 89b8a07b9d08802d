// Merge rules spelled as texts turned into a table of ids, many look-ups at a time.
// Called by codec/gguf_tokenizer, codec/json_models, codec/tiktoken. Read next:
// codec/merge_table.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/merge_table.h"
#include "codec/piece_index.h"

namespace fathom::codec {

class MergeBuilder {
 public:
  struct Options {
    size_t n_merges = 0;           // how many will be added
    size_t continuing_prefix = 0;  // bytes that a right piece loses when it is joined
    bool last_wins = false;        // of two rules for one pair the later counts
    // Called with rank and text when a piece is not in the index; must throw.
    std::function<void(size_t rank, std::string_view missing)> on_missing;
  };

  MergeBuilder(const PieceIndex& index, Options options);

  // The next rule in order of rank. The texts must stay until finish().
  void add(std::string_view left, std::string_view right);

  MergeTable finish();

 private:
  struct Pending {
    std::string_view left, right;
    uint64_t left_hash = 0, right_hash = 0;
    TokenId left_id = -1, right_id = -1, result = -1;
  };

  void flush();
  [[nodiscard]] bool is_joined(TokenId id, const Pending& merge) const;
  TokenId find_result(const Pending& merge);

  const PieceIndex* index_;
  Options options_;
  MergeTable table_;
  std::vector<Pending> pending_;
  std::string joined_;
  size_t rank_ = 0;
  TokenId last_result_ = -1;
};

}  // namespace fathom::codec
