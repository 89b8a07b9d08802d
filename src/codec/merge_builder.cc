// Looking up the pieces is all waiting for memory, so it is spread over threads, and each asks for
// the slots of 32 rules before it compares. Results mostly follow each other by id, which needs no
// look-up. Called by codec/gguf_tokenizer, codec/json_models. Read next: codec/bpe.cc.
#include "codec/merge_builder.h"

#include <algorithm>
#include <array>
#include <string>
#include <thread>

#include "base/threads.h"

namespace fathom::codec {

namespace {

constexpr size_t kBatch = 32;
constexpr size_t kRulesPerThread = 1 << 15;  // fewer are not worth a thread
constexpr int kMostThreads = 4;

struct Ids {
  TokenId left, right, result;
};

// Part of the rules, looked up by one thread.
class Resolver {
 public:
  Resolver(const PieceIndex& index, size_t continuing_prefix)
      : index_(index), prefix_(continuing_prefix) {}

  // Fills ids[i] for rules[i]. Gives the place of the first rule with a missing piece, or
  // rules.size().
  size_t resolve(std::span<const MergeRule> rules, std::span<Ids> ids) {
    for (size_t begin = 0; begin < rules.size(); begin += kBatch) {
      const auto batch = rules.subspan(begin, std::min(kBatch, rules.size() - begin));
      for (size_t i = 0; i < batch.size(); ++i) {
        keys_[i] = {key_of(batch[i].left), key_of(batch[i].right)};
        index_.prefetch(keys_[i].left);
        index_.prefetch(keys_[i].right);
      }
      for (size_t i = 0; i < batch.size(); ++i) {
        if (!resolve_one(batch[i], keys_[i], ids[begin + i])) {
          return begin + i;
        }
      }
    }
    return rules.size();
  }

  // The piece that the rule of the last call lacks.
  [[nodiscard]] std::string missing_of(const MergeRule& rule) const {
    for (const std::string_view piece : {rule.left, rule.right}) {
      if (!index_.find(piece)) {
        return std::string(piece);
      }
    }
    return rule.right.size() < prefix_ ? std::string(rule.right) : joined_;
  }

 private:
  struct Keys {
    PieceKey left = {}, right = {};
  };

  bool resolve_one(const MergeRule& rule, const Keys& keys, Ids& ids) {
    ids.left = index_.find(rule.left, keys.left);
    ids.right = index_.find(rule.right, keys.right);
    if (ids.left < 0 || ids.right < 0 || rule.right.size() < prefix_) {
      return false;
    }
    ids.result = find_result(rule);
    last_result_ = ids.result;
    return ids.result >= 0;
  }

  [[nodiscard]] bool is_joined(TokenId id, const MergeRule& rule) const {
    if (id < 0 || static_cast<size_t>(id) >= index_.texts().size()) {
      return false;
    }
    const std::string_view text = index_.texts()[static_cast<size_t>(id)];
    const std::string_view right = rule.right.substr(prefix_);
    return text.size() == rule.left.size() + right.size() && text.starts_with(rule.left) &&
           text.ends_with(right);
  }

  TokenId find_result(const MergeRule& rule) {
    for (const TokenId guess : {last_result_ + 1, last_result_}) {
      if (is_joined(guess, rule)) {
        return guess;
      }
    }
    joined_.assign(rule.left).append(rule.right.substr(prefix_));
    return index_.find(joined_, key_of(joined_));
  }

  const PieceIndex& index_;
  size_t prefix_;
  std::array<Keys, kBatch> keys_;
  std::string joined_;
  TokenId last_result_ = -1;
};

// A thread's share, and the first of its rules that lacks a piece.
struct Share {
  size_t begin = 0, size = 0, n_good = 0;
  std::string missing;
};

std::vector<Share> share_out(size_t n_rules, int n_threads) {
  const size_t most = n_threads > 0 ? static_cast<size_t>(n_threads)
                                    : static_cast<size_t>(std::min(usable_cpus(), kMostThreads));
  const size_t useful = n_threads > 0 ? n_rules : n_rules / kRulesPerThread;
  const size_t n_shares = std::clamp<size_t>(std::min(most, useful), 1, most);
  std::vector<Share> shares(n_shares);
  for (size_t i = 0; i < n_shares; ++i) {
    shares[i].begin = n_rules * i / n_shares;
    shares[i].size = n_rules * (i + 1) / n_shares - shares[i].begin;
  }
  return shares;
}

}  // namespace

MergeTable make_merge_table(const PieceIndex& index, std::span<const MergeRule> rules,
                            const MergeOptions& options) {
  std::vector<Ids, HugeAllocator<Ids>> ids(rules.size());
  std::vector<Share> shares = share_out(rules.size(), options.n_threads);
  const auto work = [&](Share& share) {
    const auto own = rules.subspan(share.begin, share.size);
    Resolver resolver(index, options.continuing_prefix);
    share.n_good = resolver.resolve(own, std::span(ids).subspan(share.begin, share.size));
    if (share.n_good < share.size) {
      share.missing = resolver.missing_of(own[share.n_good]);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (size_t i = 1; i < shares.size(); ++i) {
      threads.emplace_back([&work, &share = shares[i]] { work(share); });
    }
    work(shares.front());
  }
  for (const Share& share : shares) {
    if (share.n_good < share.size) {
      options.on_missing(share.begin + share.n_good, share.missing);
    }
  }
  MergeTable table(rules.size());
  for (size_t rank = 0; rank < ids.size(); ++rank) {
    if (rank + kBatch < ids.size()) {
      table.prefetch(ids[rank + kBatch].left, ids[rank + kBatch].right);
    }
    table.insert(ids[rank].left, ids[rank].right, {static_cast<uint32_t>(rank), ids[rank].result},
                 options.last_wins);
  }
  return table;
}

}  // namespace fathom::codec
