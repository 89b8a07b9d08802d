// The pages of one sequence: position to page and slot. Owns its pages in the pool.
// Called by engine/sequence. Read next: kv/page_pool.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kv/page_pool.h"

namespace fathom::kv {

class PageTable {
 public:
  PageTable(PagePool& pool, PageHeader header) : pool_(&pool), header_(header) {}

  ~PageTable() { clear(); }

  PageTable(const PageTable&) = delete;
  PageTable& operator=(const PageTable&) = delete;

  // Begins with pages that others hold too and that the caller has become an owner of; the table
  // must be empty, the pages full and never written again.
  void adopt(std::vector<int32_t> pages);

  // Makes positions [0, n_tokens) addressable. Error: kResourceExhausted; nothing changes then.
  void reserve(int64_t n_tokens);

  // Gives all pages back.
  void clear();

  [[nodiscard]] const PageHeader& header() const { return header_; }

  // Page of position p: pages()[p / kPageTokens]; slot p % kPageTokens.
  [[nodiscard]] std::span<const int32_t> pages() const { return pages_; }

  [[nodiscard]] int64_t capacity() const {
    return static_cast<int64_t>(pages_.size()) * kPageTokens;
  }

 private:
  PagePool* pool_;
  PageHeader header_;
  std::vector<int32_t> pages_;
};

}  // namespace fathom::kv
