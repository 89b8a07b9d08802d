// Who holds each page, written down beside the pool's counts, for the debug mode that proves
// isolation: a page that a sequence reads or writes must be one that it holds.
// Called by kv/page_pool, engine (checks every page table before a step). Read next:
// kv/page_pool.h. Thread rule: the step thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fathom::kv {

// Who holds a page: the id of a request, or one of the two below.
using PageOwner = uint64_t;

inline constexpr PageOwner kAnonymous = 0;       // tests, scoring: a table outside the engine
inline constexpr PageOwner kCacheOwner = ~0ULL;  // the prefix cache

// What the bytes of a free page hold in this mode: a NaN in every page type, so that a read of it
// cannot pass for a value.
inline constexpr int kCanary = 0xff;

class PageAudit {
 public:
  explicit PageAudit(int64_t n_pages) : holders_(static_cast<size_t>(n_pages)) {}

  // Error: kInternal with the page and its holders when somebody holds the page already.
  void on_allocate(int32_t page, PageOwner owner);

  void on_share(int32_t page, PageOwner owner);

  // False, and a warning, when `owner` does not hold the page: it must not be given back then.
  bool on_release(int32_t page, PageOwner owner);

  // Error: kInternal naming page, reader and holders, when `reader` does not hold one of `pages`.
  void check_read(std::span<const int32_t> pages, PageOwner reader) const;

  // The same, and nobody else may hold them.
  void check_write(std::span<const int32_t> pages, PageOwner writer) const;

 private:
  [[nodiscard]] bool holds(int32_t page, PageOwner owner) const;
  [[nodiscard]] std::string describe(int32_t page) const;

  std::vector<std::vector<PageOwner>> holders_;  // [n_pages], an owner once for each hold
};

}  // namespace fathom::kv
