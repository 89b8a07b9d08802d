// A sequence's pages: growth, all-or-nothing reservation, release at the end.
#include "kv/page_table.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace fathom::kv {
namespace {

constexpr PageShape kShape = {PageType::kF32, 1, 1, 4};

TEST(PageTable, GrowsByPagesAndGivesThemBack) {
  MemoryPool memory("kv", static_cast<size_t>(pool_bytes(kShape, 3)));
  PagePool pool(memory, kShape, 3);
  {
    PageTable table(pool, {PageType::kF32, 1, 0});
    table.reserve(1);
    EXPECT_EQ(table.pages().size(), 1U);
    table.reserve(64);
    EXPECT_EQ(table.pages().size(), 1U);
    table.reserve(65);
    EXPECT_EQ(table.capacity(), 128);
    EXPECT_EQ(pool.header(table.pages()[0]).arithmetic, 1);
    EXPECT_THROW(table.reserve(257), Error);
    EXPECT_EQ(table.pages().size(), 2U) << "a refused reservation must change nothing";
    EXPECT_EQ(pool.n_free(), 1);
  }
  EXPECT_EQ(pool.n_free(), 3);
  EXPECT_EQ(pool.peak_used(), 2);
  pool.self_check();
}

}  // namespace
}  // namespace fathom::kv
