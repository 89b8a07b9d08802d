// The pages of sequences: taken as rows need them, offered to later prompts as they fill, given up
// when others need them more.
// Called by engine/engine. Read next: kv/prefix_cache.h. Thread rule: the step thread.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_set>

#include "engine/sequence.h"
#include "kv/page_pool.h"
#include "kv/prefix_cache.h"

namespace fathom::engine {

struct PageKeeperOptions {
  bool prefix_cache = false;
  // Pages that hold a generated token are neither offered nor taken: with --arithmetic fast a
  // position has other bits in an answer than in a prompt.
  bool only_prompts = false;
  kv::PageHash hash = {};  // empty: the standard one
};

class PageKeeper {
 public:
  // `pages` must outlive the keeper.
  PageKeeper(kv::PagePool& pages, const PageKeeperOptions& options);

  // Pages that nobody uses: free, or held by the cache alone.
  [[nodiscard]] int64_t n_available() const;

  // Takes over the pages that the cache has of the tokens behind those computed, and counts them as
  // computed; nothing where the sequence is inside a page. The last token is always computed: its
  // logits are wanted.
  void take_cached(Sequence& sequence);

  // Makes the next `n_rows` positions writable; idle pages of the cache give way. False: there are
  // not enough pages, and none was taken. Error: kInternal, from an audit.
  [[nodiscard]] bool prepare(Sequence& sequence, int64_t n_rows);

  // Offers the full computed pages to later sequences.
  void keep(Sequence& sequence);

  // Gives all pages back; the cache has those it was offered.
  void give_back(Sequence& sequence);

  // Counts the look-up of a prompt, once.
  void count(const Sequence& sequence);

  // With an audit: errors as of kv::PageAudit when the sequence may not read its pages or write
  // its next `n_rows` positions.
  void check(const Sequence& sequence, int64_t n_rows) const;

  // Whether the next page of the sequence is among `claims`: another one is about to compute it,
  // and waiting is cheaper. Otherwise its pages to come are added to them.
  bool waits_for_others(Sequence& sequence, std::unordered_set<uint64_t>& claims);

  // Null: off.
  [[nodiscard]] const kv::PrefixCache* cache() const { return cache_.get(); }

 private:
  [[nodiscard]] bool uses_cache(const Sequence& sequence) const;

  // `end`, or where the positions that may be shared end.
  [[nodiscard]] int64_t shared_end(const Sequence& sequence, int64_t end) const;

  kv::PagePool* pages_;
  bool only_prompts_;
  std::unique_ptr<kv::PrefixCache> cache_;
};

}  // namespace fathom::engine
