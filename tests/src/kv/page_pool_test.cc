// Owners, the free list, zeroed pages, and a long random script with the self-check after each
// step.
#include "kv/page_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <set>

#include "base/error.h"
#include "support/error_check.h"

namespace fathom::kv {
namespace {

constexpr PageShape kShape = {PageType::kBF16, 2, 3, 8, 6};

class PagePoolTest : public testing::Test {
 protected:
  MemoryPool memory_{"kv", static_cast<size_t>(pool_bytes(kShape, 6))};
  PagePool pool_{memory_, kShape, 6};
};

TEST_F(PagePoolTest, HandsOutEveryPageOnce) {
  std::set<int32_t> pages;
  for (int i = 0; i < 6; ++i) {
    pages.insert(pool_.allocate({}, 1));
  }
  EXPECT_EQ(pages.size(), 6U);
  EXPECT_EQ(pool_.n_free(), 0);
  EXPECT_THROW(pool_.allocate({}, 1), Error);
}

TEST_F(PagePoolTest, SharedPageIsFreedByTheLastOwner) {
  const int32_t page = pool_.allocate({PageType::kBF16, 1, 7}, 1);
  EXPECT_EQ(pool_.header(page).rope_id, 7);
  pool_.share(page, 1);
  pool_.release(page, 1);
  EXPECT_EQ(pool_.n_free(), 5);
  pool_.release(page, 1);
  EXPECT_EQ(pool_.n_free(), 6);
  pool_.self_check();
}

TEST_F(PagePoolTest, ReusedPageIsZeroInEveryLayer) {
  const int32_t page = pool_.allocate({}, 1);
  for (int layer = 0; layer < kShape.n_layers; ++layer) {
    std::memset(pool_.view(layer).k_of(page, 0), 0x5a,
                static_cast<size_t>(page_layer_bytes(kShape)));
  }
  pool_.release(page, 1);
  ASSERT_EQ(pool_.allocate({}, 1), page);
  for (int layer = 0; layer < kShape.n_layers; ++layer) {
    const std::byte* bytes = pool_.view(layer).k_of(page, 0);
    EXPECT_TRUE(std::all_of(bytes, bytes + page_layer_bytes(kShape),
                            [](std::byte value) { return value == std::byte{0}; }));
  }
}

TEST_F(PagePoolTest, ViewsOfPagesHeadsAndLayersDoNotOverlap) {
  std::set<const std::byte*> starts;
  for (int layer = 0; layer < kShape.n_layers; ++layer) {
    const PagedView view = pool_.view(layer);
    for (int32_t page = 0; page < 6; ++page) {
      for (int head = 0; head < kShape.n_kv_heads; ++head) {
        starts.insert(view.k_of(page, head));
        starts.insert(view.v_of(page, head));
      }
    }
  }
  ASSERT_EQ(starts.size(), 2U * 6 * 3 * 2);
  const std::byte* previous = nullptr;
  bool is_value = false;  // K and V take turns
  for (const std::byte* start : starts) {
    if (previous != nullptr) {
      EXPECT_EQ(start - previous, is_value ? key_bytes(kShape) : value_bytes(kShape));
    }
    previous = start;
    is_value = !is_value;
  }
  EXPECT_EQ(pool_.view(1).value_dim, 6);
  EXPECT_EQ(pool_.view(1).head_dim, 8);
}

TEST_F(PagePoolTest, IdlePagesAreThoseThatOnlyTheCacheHolds) {
  const int32_t page = pool_.allocate({}, 1);
  pool_.share(page, kCacheOwner);
  pool_.mark_cached(page, true);
  EXPECT_EQ(pool_.n_idle(), 0);
  pool_.release(page, 1);
  EXPECT_EQ(pool_.n_idle(), 1);
  pool_.share(page, 2);
  EXPECT_EQ(pool_.n_idle(), 0);
  pool_.release(page, 2);
  pool_.self_check();
  pool_.mark_cached(page, false);
  EXPECT_EQ(pool_.n_idle(), 0);
  pool_.release(page, kCacheOwner);
  EXPECT_EQ(pool_.n_free(), 6);
  pool_.self_check();
}

TEST_F(PagePoolTest, CopiesEveryLayerAndTheHeader) {
  const int32_t from = pool_.allocate({PageType::kBF16, 1, 9}, 1);
  const int32_t to = pool_.allocate({}, 1);
  for (int layer = 0; layer < kShape.n_layers; ++layer) {
    std::memset(pool_.view(layer).k_of(from, 0), 0x30 + layer,
                static_cast<size_t>(page_layer_bytes(kShape)));
  }
  pool_.copy(from, to);
  for (int layer = 0; layer < kShape.n_layers; ++layer) {
    EXPECT_EQ(std::memcmp(pool_.view(layer).k_of(from, 0), pool_.view(layer).k_of(to, 0),
                          static_cast<size_t>(page_layer_bytes(kShape))),
              0);
  }
  EXPECT_EQ(pool_.header(to).rope_id, 9);
}

TEST_F(PagePoolTest, AWriteToAFreedPageIsFoundWhenItIsHandedOut) {
  pool_.start_audit();
  const int32_t page = pool_.allocate({}, 5);
  EXPECT_EQ(*pool_.view(1).k_of(page, 0), std::byte{0});
  pool_.release(page, 5);
  EXPECT_EQ(*pool_.view(1).k_of(page, 0), std::byte{0xff});  // reads as a NaN
  *(pool_.view(1).k_of(page, 0) + 3) = std::byte{1};
  test::expect_error([&] { pool_.allocate({}, 6); }, ErrorCode::kInternal,
                     {"page " + std::to_string(page), "byte 3 of layer 1", "0x01"});
  EXPECT_EQ(pool_.allocate({}, 6), page);  // in order again
  pool_.self_check();
}

TEST_F(PagePoolTest, RandomScriptKeepsTheCounts) {
  std::mt19937 random(7);
  std::map<int32_t, int> owners;
  for (int step = 0; step < 5000; ++step) {
    const auto action = random() % 3;
    if (action == 0 && pool_.n_free() > 0) {
      ASSERT_EQ(owners[pool_.allocate({}, 1)]++, 0);
    } else if (action == 1) {
      for (auto& [page, count] : owners) {
        if (count > 0 && count < 4) {
          pool_.share(page, 1);
          ++count;
          break;
        }
      }
    } else {
      auto it = owners.begin();
      std::advance(it, owners.empty() ? 0 : random() % owners.size());
      if (it != owners.end() && it->second > 0) {
        pool_.release(it->first, 1);
        --it->second;
      }
    }
    pool_.self_check();
    const auto used = std::count_if(owners.begin(), owners.end(),
                                    [](const auto& entry) { return entry.second > 0; });
    ASSERT_EQ(pool_.n_pages() - pool_.n_free(), used);
  }
}

}  // namespace
}  // namespace fathom::kv
