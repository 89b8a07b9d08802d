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

// Writing copies what others hold, and only that; the last holder writes in place.
TEST(PageTable, SharedPagesAreCopiedWhenTheyAreWritten) {
  MemoryPool memory("kv", static_cast<size_t>(pool_bytes(kShape, 6)));
  PagePool pool(memory, kShape, 6);
  PageTable first(pool, {PageType::kF32, 0, 3}, 1);
  first.reserve(100);
  const std::vector<int32_t> before(first.pages().begin(), first.pages().end());
  *pool.view(0).k_of(before[1], 0) = std::byte{42};
  PageTable second(pool, {PageType::kF32, 0, 3}, 2);
  second.share_all(first);
  EXPECT_EQ(pool.n_free(), 4);
  EXPECT_EQ(second.n_wanted(100, 101), 1);
  EXPECT_EQ(second.n_wanted(100, 129), 2);
  second.prepare(100, 101);
  EXPECT_EQ(second.pages()[0], before[0]);  // full and never written
  EXPECT_NE(second.pages()[1], before[1]);
  EXPECT_EQ(*pool.view(0).k_of(second.pages()[1], 0), std::byte{42});
  EXPECT_EQ(pool.header(second.pages()[1]).rope_id, 3);
  EXPECT_EQ(first.n_wanted(100, 101), 0);  // the only holder now
  first.prepare(100, 101);
  EXPECT_EQ(first.pages()[1], before[1]);
  pool.self_check();
  first.clear();
  EXPECT_EQ(pool.n_owners(before[0]), 1);
  second.clear();
  EXPECT_EQ(pool.n_free(), 6);
}

TEST(PageTable, ARefusedPreparationChangesNothing) {
  MemoryPool memory("kv", static_cast<size_t>(pool_bytes(kShape, 3)));
  PagePool pool(memory, kShape, 3);
  PageTable first(pool, {}, 1);
  first.reserve(100);
  PageTable second(pool, {}, 2);
  second.share_all(first);
  EXPECT_THROW(second.prepare(100, 129), Error);  // a copy and a new one: two, one is free
  EXPECT_EQ(second.pages()[1], first.pages()[1]);
  EXPECT_EQ(pool.n_free(), 1);
  pool.self_check();
}

TEST(PageTable, EqualContentIsHeldOnce) {
  MemoryPool memory("kv", static_cast<size_t>(pool_bytes(kShape, 3)));
  PagePool pool(memory, kShape, 3);
  PageTable first(pool, {}, 1);
  first.reserve(64);
  PageTable second(pool, {}, 2);
  second.reserve(64);
  second.replace_shared(0, first.pages()[0]);
  EXPECT_EQ(second.pages()[0], first.pages()[0]);
  EXPECT_EQ(pool.n_owners(first.pages()[0]), 2);
  EXPECT_EQ(pool.n_free(), 2);
}

}  // namespace
}  // namespace fathom::kv
