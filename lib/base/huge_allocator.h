// An allocator for large tables that are read at random: whole huge pages where the system has
// them, so that a look-up misses no TLB and filling takes few page faults.
// Called by codec/piece_index, codec/merge_table. Read next: base/arena.h.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace fathom {

// Of a standard container. Tables below one huge page are allocated as usual.
template <class T>
struct HugeAllocator {
  using value_type = T;

  static constexpr size_t kHugePage = size_t{2} << 20;

  HugeAllocator() = default;

  template <class U>
  HugeAllocator(const HugeAllocator<U>&) {}  // NOLINT(google-explicit-constructor): by contract

  T* allocate(size_t count) {
    const size_t bytes = count * sizeof(T);
    if (bytes < kHugePage) {
      return static_cast<T*>(::operator new(bytes));
    }
    const size_t rounded = (bytes + kHugePage - 1) / kHugePage * kHugePage;
    void* table = std::aligned_alloc(kHugePage, rounded);
    if (table == nullptr) {
      throw std::bad_alloc();
    }
    madvise(table, rounded, MADV_HUGEPAGE);  // a wish: without huge pages all works as before
    return static_cast<T*>(table);
  }

  void deallocate(T* table, size_t count) {
    if (count * sizeof(T) < kHugePage) {
      ::operator delete(table);
    } else {
      std::free(table);
    }
  }

  template <class U>
  bool operator==(const HugeAllocator<U>&) const {
    return true;
  }
};

}  // namespace fathom
