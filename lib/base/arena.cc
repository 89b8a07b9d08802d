// Pools over anonymous mappings.
#include "base/arena.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace fathom {

MemoryPool::MemoryPool(std::string name, size_t capacity_bytes) : name_(std::move(name)) {
  if (capacity_bytes == 0) {
    return;
  }
  void* base = ::mmap(nullptr, capacity_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    fail(ErrorCode::kOutOfMemory, fmt::format("memory pool '{}': cannot reserve {} bytes: {}",
                                              name_, capacity_bytes, std::strerror(errno)));
  }
  region_ = {static_cast<std::byte*>(base), capacity_bytes};
}

MemoryPool::~MemoryPool() {
  if (!region_.empty()) {
    ::munmap(region_.data(), region_.size());
  }
}

std::span<std::byte> MemoryPool::allocate(size_t n_bytes) {
  const size_t padded = padded_bytes(n_bytes);
  if (padded < n_bytes || padded > region_.size() - used_) {
    fail(ErrorCode::kOutOfMemory,
         fmt::format("memory pool '{}': {} bytes asked, {} of {} used; the plan was too small",
                     name_, n_bytes, used_, region_.size()));
  }
  const auto piece = region_.subspan(used_, n_bytes);
  used_ += padded;
  peak_ = std::max(peak_, used_);
  return piece;
}

}  // namespace fathom
