// Pages whose tokens are known, kept after their sequence has ended: a new sequence that begins
// with the same tokens takes them over instead of computing them again. K and V of a position
// depend on the tokens up to it alone, not on chunks or company, so the answer keeps its bits.
// Called by engine. Read next: kv/page_table.h. Thread rule: the step thread.
#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kv/page_pool.h"
#include "kv/prefix_key.h"

namespace fathom::kv {

struct PrefixStats {
  int64_t asked_tokens = 0;    // of all prompts that were looked up
  int64_t matched_tokens = 0;  // of them, taken over
  int64_t n_inserted = 0;      // pages
  int64_t n_evicted = 0;       // pages
};

// Full pages in a tree by what they hold: a page's children are the pages that may follow it. The
// cache owns each of its pages once; a page is idle when nobody else owns it. Those idle for
// longest go first, and no page before those that follow it.
class PrefixCache {
 public:
  explicit PrefixCache(PagePool& pool) : pool_(&pool) {}

  ~PrefixCache() { clear(); }

  PrefixCache(const PrefixCache&) = delete;
  PrefixCache& operator=(const PrefixCache&) = delete;

  // The longest run of cached pages with the beginning of `tokens`, at most `max_tokens` positions.
  // The caller becomes an owner of each and gives it back by PagePool::release.
  std::vector<int32_t> take(const PrefixScope& scope, std::span<const int32_t> tokens,
                            int64_t max_tokens);

  // Keeps the full pages of a sequence whose positions [0, n_computed) are computed. Pages that the
  // cache has already, by content, are left with their sequence.
  void insert(const PrefixScope& scope, std::span<const int32_t> tokens,
              std::span<const int32_t> pages, int64_t n_computed);

  // Counts a look-up in the statistics, once a prompt however often it was tried.
  void count(int64_t asked_tokens, int64_t matched_tokens);

  // Pages that evict() could give back.
  [[nodiscard]] int64_t n_idle() const;

  // Gives back idle pages, at most `n_pages`; returns how many.
  int64_t evict(int64_t n_pages);

  // Gives back all; those in use stay with their sequences.
  void clear();

  [[nodiscard]] int64_t n_pages() const { return static_cast<int64_t>(recent_.size()); }

  [[nodiscard]] const PrefixStats& stats() const { return stats_; }

  // Verifies the tree, its counts and the owners in the pool; aborts on a broken invariant.
  void self_check() const;

 private:
  struct Node;
  using NodeList = std::list<Node>;

  struct Node {
    uint64_t hash = 0;
    int32_t page = -1;
    PrefixScope scope;
    std::vector<int32_t> tokens;  // [kPageTokens]
    Node* parent = nullptr;       // null: the first page of its prompts
    int64_t n_children = 0;
  };

  [[nodiscard]] NodeList::iterator find(uint64_t hash, const Node* parent, const PrefixScope& scope,
                                        std::span<const int32_t> tokens);
  void touch(std::span<const NodeList::iterator> path);
  void erase(NodeList::iterator node);

  PagePool* pool_;
  NodeList recent_;  // the most recently used first, parents before their children
  std::unordered_multimap<uint64_t, NodeList::iterator> by_hash_;
  PrefixStats stats_;
};

}  // namespace fathom::kv
