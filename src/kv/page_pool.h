// The KV cache: a fixed number of pages of 64 positions, counted, zeroed when handed out, checked.
// Called by engine (allocates for sequences), model (views per layer).
// Read next: kv/page_table.h. Thread rule: the step thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/arena.h"
#include "kv/layout.h"

namespace fathom::kv {

// What a page was filled under: pages with different headers are never mixed in a sequence.
struct PageHeader {
  PageType type = PageType::kBF16;
  uint8_t arithmetic = 0;  // 0 int8 activations, 1 f32 reference
  int64_t rope_id = 0;     // which length-dependent rope scaling; 0: fixed

  bool operator==(const PageHeader&) const = default;
};

class PagePool {
 public:
  // Takes pool_bytes(shape, n_pages) from `memory`. Layout: [layer][page][kv_head][K | V].
  PagePool(MemoryPool& memory, const PageShape& shape, int64_t n_pages);

  // A zeroed page with one owner. Error: kResourceExhausted when none is free.
  int32_t allocate(const PageHeader& header);

  // One owner more, or less; the last one frees the page.
  void share(int32_t page);
  void release(int32_t page);

  // 0 for a free page.
  [[nodiscard]] int32_t n_owners(int32_t page) const {
    return owners_.at(static_cast<size_t>(page));
  }

  [[nodiscard]] const PageHeader& header(int32_t page) const;

  [[nodiscard]] PagedView view(int layer) const;

  [[nodiscard]] const PageShape& shape() const { return shape_; }

  [[nodiscard]] int64_t n_pages() const { return static_cast<int64_t>(owners_.size()); }

  [[nodiscard]] int64_t n_free() const { return static_cast<int64_t>(free_.size()); }

  [[nodiscard]] int64_t peak_used() const { return peak_used_; }

  // Verifies counts against the free list; aborts on a broken invariant.
  void self_check() const;

 private:
  PageShape shape_;
  std::byte* base_ = nullptr;
  std::vector<int32_t> free_;    // stack of free page numbers
  std::vector<int32_t> owners_;  // [n_pages] reference counts
  std::vector<PageHeader> headers_;
  int64_t peak_used_ = 0;
};

}  // namespace fathom::kv
