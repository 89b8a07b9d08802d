// Tables of a vector that grows: values stay, and large ones begin on a huge page.
// Called by ctest.
#include "base/huge_allocator.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace fathom {
namespace {

TEST(HugeAllocator, KeepsValuesWhileATableGrowsPastAHugePage) {
  std::vector<uint64_t, HugeAllocator<uint64_t>> table;
  constexpr uint64_t kCount = 3 * HugeAllocator<uint64_t>::kHugePage / sizeof(uint64_t);
  for (uint64_t i = 0; i < kCount; ++i) {
    table.push_back(i * i);
  }
  for (uint64_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(table[i], i * i);
  }
  EXPECT_EQ(reinterpret_cast<uintptr_t>(table.data()) % HugeAllocator<uint64_t>::kHugePage, 0u);
}

}  // namespace
}  // namespace fathom
