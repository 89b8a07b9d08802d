// The tree of cached pages: what is found, what is not, whose pages are whose, what goes first; and
// random use against a model without any cleverness.
// Called by ctest. Read next: src/kv/prefix_cache.h.
#include "kv/prefix_cache.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "kv/page_table.h"

namespace fathom::kv {
namespace {

constexpr PageShape kShape = {PageType::kF32, 1, 1, 4};
constexpr int64_t kPages = 12;

using Tokens = std::vector<int32_t>;

// n tokens that follow from `seed`, page by page: equal seeds have equal beginnings.
Tokens tokens_of(std::vector<int32_t> page_seeds, int64_t n_more = 0) {
  Tokens tokens;
  for (const int32_t seed : page_seeds) {
    for (int i = 0; i < kPageTokens; ++i) {
      tokens.push_back(seed * 1000 + i);
    }
  }
  tokens.insert(tokens.end(), static_cast<size_t>(n_more), 7);
  return tokens;
}

class PrefixCacheTest : public testing::Test {
 protected:
  PrefixCacheTest()
      : memory_("kv", static_cast<size_t>(pool_bytes(kShape, kPages))),
        pool_(memory_, kShape, kPages),
        cache_(pool_) {}

  // A sequence comes, is computed, offered and ends; its page numbers.
  std::vector<int32_t> pass(const Tokens& tokens, const PrefixScope& scope = {}) {
    PageTable table(pool_, scope.header);
    table.reserve(std::ssize(tokens));
    const std::vector<int32_t> pages(table.pages().begin(), table.pages().end());
    cache_.insert(scope, tokens, pages, std::ssize(tokens));
    return pages;
  }

  // Positions that would be taken over.
  int64_t matched(const Tokens& tokens, const PrefixScope& scope = {}) {
    PageTable table(pool_, scope.header);
    table.adopt(cache_.take(scope, tokens, std::ssize(tokens)));
    return std::ssize(table.pages()) * kPageTokens;
  }

  void TearDown() override {
    cache_.self_check();
    pool_.self_check();
    cache_.clear();
    EXPECT_EQ(pool_.n_free(), kPages);
  }

  MemoryPool memory_;
  PagePool pool_;
  PrefixCache cache_;
};

TEST_F(PrefixCacheTest, FullPagesOfTheSameBeginningAreFound) {
  const auto pages = pass(tokens_of({1, 2}, 10));
  EXPECT_EQ(cache_.n_pages(), 2);  // the third is not full
  EXPECT_EQ(pool_.n_free(), kPages - 2);
  EXPECT_EQ(cache_.take({}, tokens_of({1, 2, 3}), 1000),
            (std::vector<int32_t>{pages[0], pages[1]}));
  for (const int32_t page : {pages[0], pages[1]}) {
    EXPECT_EQ(pool_.n_owners(page), 2);
    pool_.release(page);
  }
  EXPECT_EQ(matched(tokens_of({1, 3})), 64);
  EXPECT_EQ(matched(tokens_of({2, 1})), 0);  // the same pages in another order
  EXPECT_EQ(matched(tokens_of({}, 63)), 0);
  // At most what the caller allows: the last token of a prompt is always computed.
  EXPECT_TRUE(cache_.take({}, tokens_of({1}), 63).empty());
}

TEST_F(PrefixCacheTest, ScopesNeverMix) {
  pass(tokens_of({1}));
  for (const PrefixScope& other :
       {PrefixScope{{PageType::kBF16, 0, 0}, "alice"}, PrefixScope{{PageType::kF32, 0, 0}, ""},
        PrefixScope{{PageType::kBF16, 1, 0}, ""}, PrefixScope{{PageType::kBF16, 0, 9}, ""}}) {
    EXPECT_EQ(matched(tokens_of({1}), other), 0);
    pass(tokens_of({1}), other);
    EXPECT_EQ(matched(tokens_of({1}), other), 64);
  }
  EXPECT_EQ(cache_.n_pages(), 5);
}

TEST_F(PrefixCacheTest, OnlyComputedPositionsAreKept) {
  PageTable table(pool_, {});
  const Tokens tokens = tokens_of({1, 2, 3});
  table.reserve(std::ssize(tokens));
  cache_.insert({}, tokens, table.pages(), 127);
  EXPECT_EQ(cache_.n_pages(), 1);
  cache_.insert({}, tokens, table.pages(), 192);  // later, with more of it
  EXPECT_EQ(cache_.n_pages(), 3);
  EXPECT_EQ(cache_.stats().n_inserted, 3);
}

TEST_F(PrefixCacheTest, TheSameContentIsKeptOnce) {
  const auto first = pass(tokens_of({1, 2}));
  pass(tokens_of({1, 2}));
  EXPECT_EQ(cache_.n_pages(), 2);
  const auto taken = cache_.take({}, tokens_of({1, 2}), 128);
  EXPECT_EQ(taken, first);
  for (const int32_t page : taken) {
    pool_.release(page);
  }
}

TEST_F(PrefixCacheTest, TheLongestIdleGoesFirstAndChildrenBeforeParents) {
  pass(tokens_of({1, 2}));
  pass(tokens_of({3}));
  EXPECT_EQ(matched(tokens_of({1, 2})), 128);  // 1 and 2 are used after 3
  EXPECT_EQ(cache_.n_idle(), 3);
  EXPECT_EQ(cache_.evict(1), 1);
  EXPECT_EQ(matched(tokens_of({3})), 0);
  EXPECT_EQ(cache_.evict(1), 1);
  EXPECT_EQ(matched(tokens_of({1, 2})), 64);  // 2 went, which follows 1
  EXPECT_EQ(cache_.evict(5), 1);
  EXPECT_EQ(cache_.n_pages(), 0);
  EXPECT_EQ(cache_.stats().n_evicted, 3);
}

TEST_F(PrefixCacheTest, PagesInUseStay) {
  pass(tokens_of({1, 2}));
  PageTable reader(pool_, {});
  reader.adopt(cache_.take({}, tokens_of({1, 3}), 128));  // page 1 is in use
  EXPECT_EQ(cache_.n_idle(), 1);
  EXPECT_EQ(cache_.evict(2), 1);
  EXPECT_EQ(cache_.n_pages(), 1);
  cache_.clear();
  EXPECT_EQ(pool_.n_owners(reader.pages()[0]), 1);  // the reader's still
}

// B computes page 1 itself while A's is kept, then goes on to page 2: the kept page 1 has a child
// in use and may not go before it.
TEST_F(PrefixCacheTest, APageBeforeOneInUseIsNotIdle) {
  PageTable b(pool_, {});
  b.reserve(128);
  pass(tokens_of({1}));
  cache_.insert({}, tokens_of({1, 2}), b.pages(), 128);
  EXPECT_EQ(cache_.n_pages(), 2);
  EXPECT_EQ(cache_.n_idle(), 0);
  EXPECT_EQ(cache_.evict(2), 0);
  b.clear();
  EXPECT_EQ(cache_.n_idle(), 2);
}

TEST_F(PrefixCacheTest, CountsWhatItIsTold) {
  cache_.count(100, 64);
  cache_.count(50, 0);
  EXPECT_EQ(cache_.stats().asked_tokens, 150);
  EXPECT_EQ(cache_.stats().matched_tokens, 64);
}

// 3,000 random sequences over few pages: whatever is taken has the content that it should have. The
// content of every page number is written down beside the cache.
TEST_F(PrefixCacheTest, RandomUseNeverMixesContents) {
  std::mt19937 random(1);
  std::map<int32_t, Tokens> content;  // page number to the tokens up to its end
  int64_t n_hits = 0;
  for (int i = 0; i < 3000; ++i) {
    std::vector<int32_t> seeds(1 + random() % 3);
    for (int32_t& seed : seeds) {
      seed = static_cast<int32_t>(random() % 3);
    }
    const Tokens tokens = tokens_of(seeds, random() % 20);
    PageTable table(pool_, {});
    table.adopt(cache_.take({}, tokens, std::ssize(tokens) - 1));
    n_hits += std::ssize(table.pages());
    for (size_t page = 0; page < table.pages().size(); ++page) {
      const auto end = tokens.begin() + static_cast<std::ptrdiff_t>((page + 1) * kPageTokens);
      ASSERT_EQ(content.at(table.pages()[page]), Tokens(tokens.begin(), end)) << i;
    }
    const int64_t wanted = pages_for(std::ssize(tokens)) - std::ssize(table.pages());
    if (wanted > pool_.n_free()) {
      cache_.evict(wanted - pool_.n_free());
    }
    const size_t n_taken = table.pages().size();
    table.reserve(std::ssize(tokens));
    for (size_t page = n_taken; page < table.pages().size(); ++page) {
      const auto n = std::min<size_t>((page + 1) * kPageTokens, tokens.size());
      content[table.pages()[page]] =
          Tokens(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(n));
    }
    cache_.insert({}, tokens, table.pages(), std::ssize(tokens));
    cache_.self_check();
    pool_.self_check();
  }
  EXPECT_GT(n_hits, 1000);
}

}  // namespace
}  // namespace fathom::kv
