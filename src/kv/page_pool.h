// The KV cache: a fixed number of pages of 64 positions, counted, zeroed when handed out, checked.
// Called by engine (allocates for sequences), model (views per layer).
// Read next: kv/page_table.h. Thread rule: the step thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/arena.h"
#include "kv/layout.h"
#include "kv/page_audit.h"

namespace fathom::kv {

// PageHeader::arithmetic.
inline constexpr uint8_t kExactArithmetic = 0;  // int8 activations per 32
inline constexpr uint8_t kF32Arithmetic = 1;    // the reference
inline constexpr uint8_t kFastArithmetic = 2;   // prompts int8 per 256, answers exact

// What a page was filled under: pages with different headers are never mixed in a sequence.
struct PageHeader {
  PageType type = PageType::kBF16;
  uint8_t arithmetic = kExactArithmetic;
  int64_t rope_id = 0;  // which length-dependent rope scaling; 0: fixed

  bool operator==(const PageHeader&) const = default;
};

// The three that move pages are virtual so that a test can plant a fault in each.
class PagePool {
 public:
  // Takes pool_bytes(shape, n_pages) from `memory`. Layout: [layer][page][kv_head][K | V].
  PagePool(MemoryPool& memory, const PageShape& shape, int64_t n_pages);

  virtual ~PagePool() = default;
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  // A zeroed page with one owner. Errors: kResourceExhausted when none is free; with an audit,
  // kInternal when the page has an owner or was written while it was free.
  virtual int32_t allocate(const PageHeader& header, PageOwner owner);

  // One owner more, or less; the last one frees the page. With an audit, what does not belong to
  // `owner` stays where it is.
  virtual void share(int32_t page, PageOwner owner);
  virtual void release(int32_t page, PageOwner owner);

  // Gives `to` the content and header of `from`, in all layers.
  void copy(int32_t from, int32_t to);

  // 0 for a free page.
  [[nodiscard]] int32_t n_owners(int32_t page) const {
    return owners_.at(static_cast<size_t>(page));
  }

  // Tells that one of the page's owners is the prefix cache, or that it has ceased to be.
  void mark_cached(int32_t page, bool is_cached);

  // Pages that only the prefix cache holds.
  [[nodiscard]] int64_t n_idle() const { return n_idle_; }

  [[nodiscard]] const PageHeader& header(int32_t page) const;

  [[nodiscard]] PagedView view(int layer) const;

  [[nodiscard]] const PageShape& shape() const { return shape_; }

  [[nodiscard]] int64_t n_pages() const { return static_cast<int64_t>(owners_.size()); }

  [[nodiscard]] int64_t n_free() const { return static_cast<int64_t>(free_.size()); }

  [[nodiscard]] int64_t peak_used() const { return peak_used_; }

  // Begins the debug mode: owners are kept by name, and free pages are filled with canaries and
  // looked at when they are handed out. All pages must be free.
  void start_audit();

  // Null unless the debug mode is on.
  [[nodiscard]] const PageAudit* audit() const { return audit_.get(); }

  // Verifies counts against the free list; aborts on a broken invariant.
  void self_check() const;

 private:
  void fill(int32_t page, int value);
  void check_canaries(int32_t page);

  PageShape shape_;
  std::byte* base_ = nullptr;
  std::vector<int32_t> free_;    // stack of free page numbers
  std::vector<int32_t> owners_;  // [n_pages] reference counts
  std::vector<bool> cached_;     // [n_pages] one of the owners is the prefix cache
  std::vector<PageHeader> headers_;
  std::unique_ptr<PageAudit> audit_;
  int64_t n_idle_ = 0;
  int64_t peak_used_ = 0;
};

}  // namespace fathom::kv
