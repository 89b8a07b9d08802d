// The pages of one sequence: position to page and slot. Owns its pages in the pool, some of them
// together with others: a page with several owners is copied before it is written.
// Called by engine/sequence. Read next: kv/page_pool.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kv/page_pool.h"

namespace fathom::kv {

class PageTable {
 public:
  explicit PageTable(PagePool& pool, PageHeader header, PageOwner owner = kAnonymous)
      : pool_(&pool), header_(header), owner_(owner) {}

  ~PageTable() { clear(); }

  PageTable(const PageTable&) = delete;
  PageTable& operator=(const PageTable&) = delete;

  // Appends a full page that others hold too; it is never written again.
  void append_shared(int32_t page);

  // Takes `page`, which others hold and which has the same content, in place of page `index`.
  void replace_shared(size_t index, int32_t page);

  // Becomes an owner of all pages of `other`; the table must be empty.
  void share_all(const PageTable& other);

  // Pages that prepare(first, end) would take from the pool.
  [[nodiscard]] int64_t n_wanted(int64_t first, int64_t end) const;

  // Makes positions [first, end) addressable and this table the only owner of their pages, by
  // copies where others hold them. Errors: kResourceExhausted, nothing changes then; kInternal from
  // an audit.
  void prepare(int64_t first, int64_t end);

  // prepare() behind the pages there are.
  void reserve(int64_t n_tokens) { prepare(capacity(), n_tokens); }

  // Gives all pages back.
  void clear();

  [[nodiscard]] const PageHeader& header() const { return header_; }

  [[nodiscard]] PageOwner owner() const { return owner_; }

  // Page of position p: pages()[p / kPageTokens]; slot p % kPageTokens.
  [[nodiscard]] std::span<const int32_t> pages() const { return pages_; }

  [[nodiscard]] int64_t n_pages() const { return static_cast<int64_t>(pages_.size()); }

  [[nodiscard]] int64_t capacity() const { return n_pages() * kPageTokens; }

 private:
  PagePool* pool_;
  PageHeader header_;
  PageOwner owner_;
  std::vector<int32_t> pages_;
};

}  // namespace fathom::kv
