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
      cached_(static_cast<size_t>(n_pages), false),
      headers_(static_cast<size_t>(n_pages)) {
  free_.reserve(static_cast<size_t>(n_pages));
  for (int64_t page = n_pages; page > 0; --page) {
    free_.push_back(static_cast<int32_t>(page - 1));
  }
}

void PagePool::fill(int32_t page, int value) {
  const auto bytes = static_cast<size_t>(page_layer_bytes(shape_));
  for (int layer = 0; layer < shape_.n_layers; ++layer) {
    std::memset(view(layer).k_of(page, 0), value, bytes);
  }
}

int32_t PagePool::allocate(const PageHeader& header, PageOwner owner) {
  if (free_.empty()) {
    fail(ErrorCode::kResourceExhausted,
         fmt::format("all {} KV pages of {} positions are in use; raise -c", n_pages(),
                     kPageTokens));
  }
  const int32_t page = free_.back();
  if (audit_) {
    check_canaries(page);
    audit_->on_allocate(page, owner);
  }
  free_.pop_back();
  const auto index = static_cast<size_t>(page);
  owners_[index] = 1;
  headers_[index] = header;
  fill(page, 0);  // tails are read by whole-page kernels
  peak_used_ = std::max(peak_used_, n_pages() - n_free());
  return page;
}

void PagePool::share(int32_t page, PageOwner owner) {
  const auto index = static_cast<size_t>(page);
  FATHOM_CHECK(owners_.at(index) > 0);
  if (audit_) {
    audit_->on_share(page, owner);
  }
  n_idle_ -= cached_[index] && owners_[index] == 1 ? 1 : 0;
  ++owners_[index];
}

void PagePool::release(int32_t page, PageOwner owner) {
  const auto index = static_cast<size_t>(page);
  if (audit_ && !audit_->on_release(page, owner)) {
    return;  // not its to give
  }
  FATHOM_CHECK(owners_.at(index) > 0);
  --owners_[index];
  n_idle_ += cached_[index] && owners_[index] == 1 ? 1 : 0;
  if (owners_[index] == 0) {
    FATHOM_CHECK(!cached_[index]);
    if (audit_) {
      fill(page, kCanary);
    }
    free_.push_back(page);
  }
}

void PagePool::mark_cached(int32_t page, bool is_cached) {
  const auto index = static_cast<size_t>(page);
  FATHOM_CHECK(owners_.at(index) > 0 && cached_[index] != is_cached);
  cached_[index] = is_cached;
  if (owners_[index] == 1) {
    n_idle_ += is_cached ? 1 : -1;
  }
}

void PagePool::copy(int32_t from, int32_t to) {
  FATHOM_CHECK(n_owners(from) > 0 && n_owners(to) == 1);
  const auto bytes = static_cast<size_t>(page_layer_bytes(shape_));
  for (int layer = 0; layer < shape_.n_layers; ++layer) {
    std::memcpy(view(layer).k_of(to, 0), view(layer).k_of(from, 0), bytes);
  }
  headers_[static_cast<size_t>(to)] = headers_[static_cast<size_t>(from)];
}

void PagePool::start_audit() {
  FATHOM_CHECK(n_free() == n_pages());
  audit_ = std::make_unique<PageAudit>(n_pages());
  for (int32_t page = 0; page < n_pages(); ++page) {
    fill(page, kCanary);
  }
}

// Error: kInternal. The page is made good first, so that its next owner finds it in order.
void PagePool::check_canaries(int32_t page) {
  const int64_t bytes = page_layer_bytes(shape_);
  for (int layer = 0; layer < shape_.n_layers; ++layer) {
    const std::byte* begin = view(layer).k_of(page, 0);
    const std::byte* bad = std::find_if(begin, begin + bytes, [](std::byte value) {
      return value != static_cast<std::byte>(kCanary);
    });
    if (bad != begin + bytes) {
      const int found = std::to_integer<int>(*bad);
      fill(page, kCanary);
      fail(ErrorCode::kInternal,
           fmt::format("KV page {} was written after it had been freed: byte {} of layer {} is "
                       "{:#04x}, expected {:#04x}; this is a fault of Fathom, please report it",
                       page, bad - begin, layer, found, kCanary));
    }
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
  int64_t n_idle = 0;
  std::vector<bool> is_free(owners_.size(), false);
  for (const int32_t page : free_) {
    FATHOM_CHECK(!is_free.at(static_cast<size_t>(page)));  // twice in the free list
    is_free[static_cast<size_t>(page)] = true;
  }
  for (size_t page = 0; page < owners_.size(); ++page) {
    FATHOM_CHECK((owners_[page] == 0) == is_free[page]);
    n_idle += cached_[page] && owners_[page] == 1 ? 1 : 0;
  }
  FATHOM_CHECK(n_idle == n_idle_);
}

}  // namespace fathom::kv
