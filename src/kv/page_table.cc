// Growth and release of a sequence's pages.
#include "kv/page_table.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"
#include "base/error.h"

namespace fathom::kv {

void PageTable::adopt(std::vector<int32_t> pages) {
  FATHOM_CHECK(pages_.empty());
  pages_ = std::move(pages);
}

void PageTable::reserve(int64_t n_tokens) {
  const int64_t wanted = pages_for(n_tokens) - static_cast<int64_t>(pages_.size());
  if (wanted > pool_->n_free()) {
    fail(ErrorCode::kResourceExhausted,
         fmt::format("{} more KV pages are needed for {} positions, {} are free", wanted, n_tokens,
                     pool_->n_free()));
  }
  for (int64_t i = 0; i < wanted; ++i) {
    pages_.push_back(pool_->allocate(header_));
  }
}

void PageTable::clear() {
  for (const int32_t page : pages_) {
    pool_->release(page);
  }
  pages_.clear();
}

}  // namespace fathom::kv
