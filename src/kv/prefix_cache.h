// Pages whose tokens are known, kept after their sequence has ended: a new sequence that begins
// with the same tokens takes them over instead of computing them again. K and V of a position
// depend on the tokens up to it alone, not on chunks or company, so the answer keeps its bits.
// Called by engine. Read next: kv/prefix_key.h, kv/page_table.h. Thread rule: the step thread.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kv/page_pool.h"
#include "kv/page_table.h"
#include "kv/prefix_key.h"

namespace fathom::kv {

struct PrefixStats {
  int64_t n_asked = 0;         // prompts that were looked up
  int64_t n_hits = 0;          // of them, with at least one page found
  int64_t asked_tokens = 0;    // of all prompts that were looked up
  int64_t matched_tokens = 0;  // of them, taken over
  int64_t n_inserted = 0;      // pages
  int64_t n_evicted = 0;       // pages
};

// Full pages in a tree by what they hold: a page's children are the pages that may follow it. The
// cache owns each of its pages once; a page is idle when nobody else owns it. Whoever owns a page
// of the tree owns all before it too. Those idle for longest go first, and no page before those
// that follow it.
class PrefixCache {
 public:
  // `hash` may be any function of its arguments: a poor one costs time and nothing else.
  explicit PrefixCache(PagePool& pool, PageHash hash = hash_page);

  ~PrefixCache() { clear(); }

  PrefixCache(const PrefixCache&) = delete;
  PrefixCache& operator=(const PrefixCache&) = delete;

  // Appends to `table`, which holds the first pages of `tokens` or nothing, the cached pages that
  // follow, up to `max_tokens` positions in all; tells why it ended there.
  CacheEnd take(PrefixKey& key, std::span<const int32_t> tokens, int64_t max_tokens,
                PageTable& table);

  // Keeps the full pages of a sequence whose positions [0, n_computed) are computed. Where the
  // cache has the same content in another page, the table takes that one and gives its own back.
  void insert(PrefixKey& key, std::span<const int32_t> tokens, int64_t n_computed,
              PageTable& table);

  // Hash of page `page` of `tokens`, as take() would look for it.
  uint64_t hash_of(PrefixKey& key, std::span<const int32_t> tokens, int64_t page) const {
    return key.hash(hash_, tokens, page);
  }

  // Counts a look-up in the statistics, once a prompt however often it was tried.
  void count(int64_t asked_tokens, int64_t matched_tokens);

  // More of a prompt that was counted already.
  void count_late(int64_t matched_tokens) { stats_.matched_tokens += matched_tokens; }

  // Gives back idle pages, at most `n_pages`; returns how many.
  int64_t evict(int64_t n_pages);

  // Gives back all; those in use stay with their sequences.
  void clear();

  [[nodiscard]] int64_t n_pages() const { return static_cast<int64_t>(recent_.size()); }

  [[nodiscard]] const PrefixStats& stats() const { return stats_; }

  // What is kept, every page after the one that it follows (-1: none).
  struct Kept {
    int32_t page = -1;
    int32_t parent = -1;
    std::span<const int32_t> tokens;     // [kPageTokens]
    const PrefixScope* scope = nullptr;  // of first pages; null for those that follow
  };

  void visit(const std::function<void(const Kept&)>& visitor) const;

  // Verifies the tree, its counts and the owners in the pool; aborts on a broken invariant.
  void self_check() const;

 private:
  struct Node;
  using NodeList = std::list<Node>;

  struct Node {
    uint64_t hash = 0;
    int32_t page = -1;
    PrefixScope scope;            // of first pages; those that follow are of their parent's
    std::vector<int32_t> tokens;  // [kPageTokens]
    Node* parent = nullptr;       // null: the first page of its prompts
    int64_t n_children = 0;
  };

  [[nodiscard]] NodeList::iterator find(uint64_t hash, const Node* parent, const PrefixScope& scope,
                                        std::span<const int32_t> tokens);
  NodeList::iterator add(uint64_t hash, Node* parent, const PrefixScope& scope,
                         std::span<const int32_t> tokens, int32_t page);
  void touch(std::span<const NodeList::iterator> path);
  void erase(NodeList::iterator node);

  PagePool* pool_;
  PageHash hash_;
  NodeList recent_;  // the most recently used first, parents before their children
  std::unordered_multimap<uint64_t, NodeList::iterator> by_hash_;
  std::vector<uint64_t> evicted_;  // hashes of late pages, each at its hash modulo the size
  PrefixStats stats_;
};

}  // namespace fathom::kv
