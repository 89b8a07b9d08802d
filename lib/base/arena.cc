// Pools over anonymous mappings.
#include "base/arena.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/threads.h"

namespace fathom {

namespace {

constexpr size_t kHugePageBytes = size_t{2} << 20;
constexpr size_t kPageBytes = 4096;

// 0, or why there is no memory for it.
int make_resident(std::span<std::byte> range) {
#if defined(MADV_POPULATE_WRITE)
  if (::madvise(range.data(), range.size(), MADV_POPULATE_WRITE) == 0) {
    return 0;
  }
  if (errno == ENOMEM || errno == EFAULT || errno == EHWPOISON) {
    return errno;
  }
#endif
  for (size_t at = 0; at < range.size(); at += kPageBytes) {  // kernels before 5.14
    auto* byte = reinterpret_cast<volatile unsigned char*>(range.data() + at);
    *byte = *byte;
  }
  return 0;
}

}  // namespace

MemoryPool::MemoryPool(std::string name, size_t capacity_bytes) : name_(std::move(name)) {
  if (capacity_bytes == 0) {
    return;
  }
  const size_t slack = capacity_bytes >= kHugePageBytes ? kHugePageBytes : 0;
  const size_t length = capacity_bytes + slack;
  void* base = length < capacity_bytes ? MAP_FAILED
                                       : ::mmap(nullptr, length, PROT_READ | PROT_WRITE,
                                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    fail(ErrorCode::kOutOfMemory, fmt::format("memory pool '{}': cannot reserve {} bytes: {}",
                                              name_, capacity_bytes, std::strerror(errno)));
  }
  mapping_ = {static_cast<std::byte*>(base), length};
  const auto address = reinterpret_cast<uintptr_t>(base);
  const size_t skip = slack == 0 ? 0 : (kHugePageBytes - address % kHugePageBytes) % kHugePageBytes;
  region_ = mapping_.subspan(skip, capacity_bytes);
  if (slack != 0) {
    ::madvise(region_.data(), capacity_bytes, MADV_HUGEPAGE);  // advice: a refusal costs speed only
  }
}

MemoryPool::~MemoryPool() {
  if (!mapping_.empty()) {
    ::munmap(mapping_.data(), mapping_.size());
  }
}

// In stretches: during one call for everything no thread of the process could map memory, not even
// one that answers for the server's health.
void MemoryPool::populate(ThreadPool& threads) {
  constexpr size_t kStretch = 4 * kHugePageBytes;
  const size_t n_stretches = (region_.size() + kStretch - 1) / kStretch;
  std::atomic<int> fault = 0;
  threads.run(static_cast<int64_t>(n_stretches), [&](int64_t i, int) {
    const size_t begin = static_cast<size_t>(i) * kStretch;
    const int error =
        make_resident(region_.subspan(begin, std::min(kStretch, region_.size() - begin)));
    if (error != 0) {
      fault = error;
    }
  });
  if (fault != 0) {
    fail(ErrorCode::kOutOfMemory,
         fmt::format("memory pool '{}': the kernel does not give {} bytes: {}", name_,
                     region_.size(), std::strerror(fault)));
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
