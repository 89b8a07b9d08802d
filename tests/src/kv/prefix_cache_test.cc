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
    std::vector<int32_t> pages(table.pages().begin(), table.pages().end());
    insert(scope, tokens, std::ssize(tokens), table);
    return pages;
  }

  // Positions that would be taken over.
  int64_t matched(const Tokens& tokens, const PrefixScope& scope = {}) {
    PageTable table(pool_, scope.header);
    last_end_ = take(scope, tokens, std::ssize(tokens), table);
    return table.capacity();
  }

  CacheEnd take(const PrefixScope& scope, const Tokens& tokens, int64_t max_tokens,
                PageTable& table) {
    PrefixKey key(scope);
    return cache_.take(key, tokens, max_tokens, table);
  }

  void insert(const PrefixScope& scope, const Tokens& tokens, int64_t n_computed,
              PageTable& table) {
    PrefixKey key(scope);
    cache_.insert(key, tokens, n_computed, table);
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
  CacheEnd last_end_ = CacheEnd::kOff;  // of matched()
};

TEST_F(PrefixCacheTest, FullPagesOfTheSameBeginningAreFound) {
  const auto pages = pass(tokens_of({1, 2}, 10));
  EXPECT_EQ(cache_.n_pages(), 2);  // the third is not full
  EXPECT_EQ(pool_.n_free(), kPages - 2);
  {
    PageTable table(pool_, {});
    EXPECT_EQ(take({}, tokens_of({1, 2, 3}), 1000, table), CacheEnd::kNotSeen);
    EXPECT_EQ(std::vector<int32_t>(table.pages().begin(), table.pages().end()),
              (std::vector<int32_t>{pages[0], pages[1]}));
    EXPECT_EQ(pool_.n_owners(pages[0]), 2);
  }
  EXPECT_EQ(matched(tokens_of({1, 3})), 64);
  EXPECT_EQ(matched(tokens_of({2, 1})), 0);  // the same pages in another order
  EXPECT_EQ(matched(tokens_of({}, 63)), 0);
  // At most what the caller allows: the last token of a prompt is always computed.
  PageTable table(pool_, {});
  EXPECT_EQ(take({}, tokens_of({1}), 63, table), CacheEnd::kLastToken);
  EXPECT_EQ(table.n_pages(), 0);
}

TEST_F(PrefixCacheTest, ScopesNeverMix) {
  pass(tokens_of({1}));
  for (const PrefixScope& other :
       {PrefixScope{{PageType::kBF16, 0, 0}, "alice"}, PrefixScope{{PageType::kF32, 0, 0}, ""},
        PrefixScope{{PageType::kBF16, 1, 0}, ""}, PrefixScope{{PageType::kBF16, 0, 9}, ""},
        PrefixScope{{}, "", "model"}, PrefixScope{{}, "", "", "adapter"}}) {
    EXPECT_EQ(matched(tokens_of({1}), other), 0);
    pass(tokens_of({1}), other);
    EXPECT_EQ(matched(tokens_of({1}), other), 64);
  }
  EXPECT_EQ(cache_.n_pages(), 7);
}

TEST_F(PrefixCacheTest, OnlyComputedPositionsAreKept) {
  PageTable table(pool_, {});
  const Tokens tokens = tokens_of({1, 2, 3});
  table.reserve(std::ssize(tokens));
  insert({}, tokens, 127, table);
  EXPECT_EQ(cache_.n_pages(), 1);
  insert({}, tokens, 192, table);  // later, with more of it
  EXPECT_EQ(cache_.n_pages(), 3);
  EXPECT_EQ(cache_.stats().n_inserted, 3);
}

TEST_F(PrefixCacheTest, TheSameContentIsKeptOnce) {
  const auto first = pass(tokens_of({1, 2}));
  pass(tokens_of({1, 2}));
  EXPECT_EQ(cache_.n_pages(), 2);
  PageTable table(pool_, {});
  take({}, tokens_of({1, 2}), 128, table);
  EXPECT_EQ(std::vector<int32_t>(table.pages().begin(), table.pages().end()), first);
}

TEST_F(PrefixCacheTest, TheLongestIdleGoesFirstAndChildrenBeforeParents) {
  pass(tokens_of({1, 2}));
  pass(tokens_of({3}));
  EXPECT_EQ(matched(tokens_of({1, 2})), 128);  // 1 and 2 are used after 3
  EXPECT_EQ(pool_.n_idle(), 3);
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
  take({}, tokens_of({1, 3}), 128, reader);  // page 1 is in use
  EXPECT_EQ(pool_.n_idle(), 1);
  EXPECT_EQ(cache_.evict(2), 1);
  EXPECT_EQ(cache_.n_pages(), 1);
  cache_.clear();
  EXPECT_EQ(pool_.n_owners(reader.pages()[0]), 1);  // the reader's still
}

// B computed page 1 itself while A's is kept: it takes A's and gives its own back, so that whoever
// holds a page of the tree holds those before it.
TEST_F(PrefixCacheTest, ASecondPageOfTheSameContentIsGivenBack) {
  PageTable b(pool_, {});
  b.reserve(128);
  const auto first = pass(tokens_of({1}));
  EXPECT_NE(b.pages()[0], first[0]);
  insert({}, tokens_of({1, 2}), 128, b);
  EXPECT_EQ(b.pages()[0], first[0]);
  EXPECT_EQ(cache_.n_pages(), 2);
  EXPECT_EQ(pool_.n_free(), kPages - 2);
  EXPECT_EQ(pool_.n_idle(), 0);
  EXPECT_EQ(cache_.evict(2), 0);
  b.clear();
  EXPECT_EQ(pool_.n_idle(), 2);
}

TEST_F(PrefixCacheTest, TellsWhyTheMatchEnded) {
  pass(tokens_of({1, 2}));
  EXPECT_EQ(matched(tokens_of({1, 2})), 128);
  EXPECT_EQ(last_end_, CacheEnd::kEndOfPrompt);
  EXPECT_EQ(matched(tokens_of({1, 2}, 10)), 128);
  EXPECT_EQ(last_end_, CacheEnd::kEndOfPrompt);
  EXPECT_EQ(matched(tokens_of({1, 3})), 64);
  EXPECT_EQ(last_end_, CacheEnd::kNotSeen);
  EXPECT_EQ(matched(tokens_of({1, 2}), {{}, "other"}), 0);
  EXPECT_EQ(last_end_, CacheEnd::kNotSeen);  // nothing tells of the pages of others
  cache_.evict(1);
  EXPECT_EQ(matched(tokens_of({1, 2})), 64);
  EXPECT_EQ(last_end_, CacheEnd::kEvicted);
}

// A table goes on from the pages it has, as far as the cache has grown meanwhile.
TEST_F(PrefixCacheTest, ATableTakesMoreLater) {
  pass(tokens_of({1}));
  PageTable table(pool_, {});
  take({}, tokens_of({1, 2, 3}), 192, table);
  EXPECT_EQ(table.n_pages(), 1);
  pass(tokens_of({1, 2, 3}));
  take({}, tokens_of({1, 2, 3}), 191, table);
  EXPECT_EQ(table.n_pages(), 2);
}

// vllm PR#12621: with a hash that is always the same, contents still never mix.
TEST_F(PrefixCacheTest, CollisionsOfHashesAreHarmless) {
  PrefixCache poor(pool_, [](uint64_t, std::span<const int32_t>) { return uint64_t{1}; });
  for (const int32_t seed : {1, 2, 3}) {
    PageTable table(pool_, {});
    table.reserve(128);
    PrefixKey key({});
    poor.insert(key, tokens_of({seed, 9}), 128, table);
  }
  EXPECT_EQ(poor.n_pages(), 6);
  for (const int32_t seed : {1, 2, 3, 4}) {
    PageTable table(pool_, {});
    PrefixKey key({});
    poor.take(key, tokens_of({seed, 9}), 128, table);
    EXPECT_EQ(table.n_pages(), seed == 4 ? 0 : 2);
    poor.visit([&](const PrefixCache::Kept& kept) {
      if (table.n_pages() > 0 && kept.page == table.pages()[0]) {
        EXPECT_EQ(kept.tokens[0], seed * 1000);
      }
    });
  }
  poor.self_check();
}

TEST_F(PrefixCacheTest, CountsWhatItIsTold) {
  cache_.count(100, 64);
  cache_.count(50, 0);
  EXPECT_EQ(cache_.stats().n_asked, 2);
  EXPECT_EQ(cache_.stats().n_hits, 1);
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
    take({}, tokens, std::ssize(tokens) - 1, table);
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
    insert({}, tokens, std::ssize(tokens), table);
    cache_.self_check();
    pool_.self_check();
  }
  EXPECT_GT(n_hits, 1000);
}

}  // namespace
}  // namespace fathom::kv
