// A look-up misses the cache twice, in the slot and in the text. Runs of 32 rules ask for all
// slots, then for all texts, then compare. Results mostly follow each other by id, which needs no
// look-up. Called by codec/gguf_tokenizer, codec/json_models, codec/tiktoken. Read next:
// codec/bpe.cc.
#include "codec/merge_builder.h"

#include <utility>

namespace fathom::codec {

namespace {

constexpr size_t kBatch = 32;

}  // namespace

MergeBuilder::MergeBuilder(const PieceIndex& index, Options options)
    : index_(&index), options_(std::move(options)), table_(options_.n_merges) {
  pending_.reserve(kBatch);
}

void MergeBuilder::add(std::string_view left, std::string_view right) {
  pending_.push_back({.left = left, .right = right});
  if (pending_.size() == kBatch) {
    flush();
  }
}

bool MergeBuilder::is_joined(TokenId id, const Pending& merge) const {
  if (id < 0 || static_cast<size_t>(id) >= index_->texts().size()) {
    return false;
  }
  const std::string_view text = index_->texts()[static_cast<size_t>(id)];
  const std::string_view right = merge.right.substr(options_.continuing_prefix);
  return text.size() == merge.left.size() + right.size() && text.starts_with(merge.left) &&
         text.ends_with(right);
}

TokenId MergeBuilder::find_result(const Pending& merge) {
  for (const TokenId guess : {last_result_ + 1, last_result_}) {
    if (is_joined(guess, merge)) {
      return guess;
    }
  }
  joined_.assign(merge.left).append(merge.right.substr(options_.continuing_prefix));
  return index_->find_hashed(joined_, hash_text(joined_));
}

void MergeBuilder::flush() {
  for (Pending& merge : pending_) {
    merge.left_hash = hash_text(merge.left);
    merge.right_hash = hash_text(merge.right);
    index_->prefetch(merge.left_hash);
    index_->prefetch(merge.right_hash);
  }
  for (const Pending& merge : pending_) {
    index_->prefetch_text(merge.left_hash);
    index_->prefetch_text(merge.right_hash);
  }
  for (size_t i = 0; i < pending_.size(); ++i) {
    Pending& merge = pending_[i];
    const size_t rank = rank_ + i;
    merge.left_id = index_->find_hashed(merge.left, merge.left_hash);
    merge.right_id = index_->find_hashed(merge.right, merge.right_hash);
    if (merge.left_id < 0 || merge.right_id < 0 ||
        merge.right.size() < options_.continuing_prefix) {
      options_.on_missing(rank, merge.left_id < 0 ? merge.left : merge.right);
      continue;
    }
    table_.prefetch(merge.left_id, merge.right_id);
    merge.result = find_result(merge);
    if (merge.result < 0) {
      options_.on_missing(rank, joined_);
    }
    last_result_ = merge.result;
  }
  for (const Pending& merge : pending_) {
    if (merge.result >= 0) {
      table_.insert(merge.left_id, merge.right_id, {static_cast<uint32_t>(rank_), merge.result},
                    options_.last_wins);
    }
    ++rank_;
  }
  pending_.clear();
}

MergeTable MergeBuilder::finish() {
  flush();
  return std::move(table_);
}

}  // namespace fathom::codec
