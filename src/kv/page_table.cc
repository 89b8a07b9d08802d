// Growth, sharing, copies and release of a sequence's pages.
#include "kv/page_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/error.h"

namespace fathom::kv {

void PageTable::append_shared(int32_t page) {
  pool_->share(page, owner_);
  pages_.push_back(page);
}

void PageTable::replace_shared(size_t index, int32_t page) {
  FATHOM_CHECK(pages_.at(index) != page);
  pool_->share(page, owner_);
  pool_->release(pages_[index], owner_);
  pages_[index] = page;
}

void PageTable::share_all(const PageTable& other) {
  FATHOM_CHECK(pages_.empty());
  for (const int32_t page : other.pages_) {
    append_shared(page);
  }
}

int64_t PageTable::n_wanted(int64_t first, int64_t end) const {
  int64_t n_wanted = std::max<int64_t>(0, pages_for(end) - n_pages());
  for (int64_t page = first / kPageTokens; page < std::min(pages_for(end), n_pages()); ++page) {
    n_wanted += pool_->n_owners(pages_[static_cast<size_t>(page)]) > 1 ? 1 : 0;
  }
  return n_wanted;
}

void PageTable::prepare(int64_t first, int64_t end) {
  const int64_t wanted = n_wanted(first, end);
  if (wanted > pool_->n_free()) {
    fail(ErrorCode::kResourceExhausted,
         fmt::format("{} more KV pages are needed for {} positions, {} are free", wanted, end,
                     pool_->n_free()));
  }
  for (int64_t page = first / kPageTokens; page < std::min(pages_for(end), n_pages()); ++page) {
    int32_t& number = pages_[static_cast<size_t>(page)];
    if (pool_->n_owners(number) > 1) {
      const int32_t own = pool_->allocate(header_, owner_);
      pool_->copy(number, own);
      pool_->release(number, owner_);
      number = own;
    }
  }
  while (n_pages() < pages_for(end)) {
    pages_.push_back(pool_->allocate(header_, owner_));
  }
}

void PageTable::clear() {
  for (const int32_t page : pages_) {
    pool_->release(page, owner_);
  }
  pages_.clear();
}

}  // namespace fathom::kv
