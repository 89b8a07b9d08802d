// Pages of all layers in one region: [layer][page][kv_head][K | V].
//
//   base_ + layer * (n_pages * page_layer_bytes) + page * page_layer_bytes
//     + head * (key_bytes + value_bytes)
//
// A page number stands for the same 64 positions in every layer; its owner count says how many page
// tables hold it. The free list is a stack: the page given back last is handed out first (its bytes
// are the warmest).
#include "kv/page_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/error.h"

namespace fathom::kv {

PagePool::PagePool(MemoryPool& memory, const PageShape& shape, int64_t n_pages)
    : shape_(shape),
      base_(memory.allocate(static_cast<size_t>(pool_bytes(shape, n_pages))).data()),
      owners_(static_cast<size_t>(n_pages), 0),
      headers_(static_cast<size_t>(n_pages)) {
  free_.reserve(static_cast<size_t>(n_pages));
  for (int64_t page = n_pages; page > 0; --page) {
    free_.push_back(static_cast<int32_t>(page - 1));
  }
}

int32_t PagePool::allocate(const PageHeader& header) {
  if (free_.empty()) {
    fail(ErrorCode::kResourceExhausted,
         fmt::format("all {} KV pages of {} positions are in use; raise -c", n_pages(),
                     kPageTokens));
  }
  const int32_t page = free_.back();
  free_.pop_back();
  const auto index = static_cast<size_t>(page);
  owners_[index] = 1;
  headers_[index] = header;
  // Tails are read by whole-page kernels, so a page starts as zeros.
  const int64_t bytes = page_layer_bytes(shape_);
  for (int layer = 0; layer < shape_.n_layers; ++layer) {
    std::memset(view(layer).k_of(page, 0), 0, static_cast<size_t>(bytes));
  }
  peak_used_ = std::max(peak_used_, n_pages() - n_free());
  return page;
}

void PagePool::share(int32_t page) {
  FATHOM_CHECK(owners_.at(static_cast<size_t>(page)) > 0);
  ++owners_[static_cast<size_t>(page)];
}

void PagePool::release(int32_t page) {
  int32_t& owners = owners_.at(static_cast<size_t>(page));
  FATHOM_CHECK(owners > 0);
  if (--owners == 0) {
    free_.push_back(page);
  }
}

const PageHeader& PagePool::header(int32_t page) const {
  return headers_.at(static_cast<size_t>(page));
}

PagedView PagePool::view(int layer) const {
  FATHOM_CHECK(layer >= 0 && layer < shape_.n_layers);
  PagedView view;
  view.page_stride_bytes = page_layer_bytes(shape_);
  view.base = base_ + layer * n_pages() * view.page_stride_bytes;
  view.head_stride_bytes = key_bytes(shape_) + value_bytes(shape_);
  view.v_offset_bytes = key_bytes(shape_);
  view.type = shape_.type;
  view.n_kv_heads = shape_.n_kv_heads;
  view.head_dim = shape_.head_dim;
  view.value_dim = shape_.value_dim;
  return view;
}

void PagePool::self_check() const {
  std::vector<bool> is_free(owners_.size(), false);
  for (const int32_t page : free_) {
    FATHOM_CHECK(!is_free.at(static_cast<size_t>(page)));  // twice in the free list
    is_free[static_cast<size_t>(page)] = true;
  }
  for (size_t page = 0; page < owners_.size(); ++page) {
    FATHOM_CHECK((owners_[page] == 0) == is_free[page]);
  }
}

}  // namespace fathom::kv
