// What is kept comes back, whatever else is kept; a full cache begins anew and stays right.
// Called by ctest. Read next: src/codec/word_cache.cc.
#include "codec/word_cache.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "codec/piece_index.h"

namespace fathom::codec {
namespace {

using Ids = std::vector<TokenId>;

TEST(WordCache, GivesWhatItKeeps) {
  WordCache cache;
  Ids out = {9};
  EXPECT_FALSE(cache.find("a", hash_text("a"), out));
  cache.insert("a", hash_text("a"), Ids{1, 2});
  cache.insert("b", hash_text("b"), Ids{});
  EXPECT_TRUE(cache.find("a", hash_text("a"), out));
  EXPECT_EQ(out, (Ids{9, 1, 2}));  // added at the end
  EXPECT_TRUE(cache.find("b", hash_text("b"), out));
  EXPECT_EQ(out.size(), 3u);
}

TEST(WordCache, WordsOfOneHashAreToldApart) {
  WordCache cache;
  cache.insert("one", 77, Ids{1});
  cache.insert("two", 77, Ids{2});
  Ids out;
  EXPECT_TRUE(cache.find("two", 77, out));
  EXPECT_FALSE(cache.find("six", 77, out));
  EXPECT_EQ(out, Ids{2});
}

TEST(WordCache, LongWordsAndManyIdsAreNotKept) {
  WordCache cache;
  Ids out;
  const std::string long_word(201, 'x');
  cache.insert(long_word, 1, Ids{1});
  EXPECT_FALSE(cache.find(long_word, 1, out));
  cache.insert("y", 2, Ids(70'000, 1));
  EXPECT_FALSE(cache.find("y", 2, out));
}

TEST(WordCache, GrowsAndBeginsAnew) {
  WordCache cache;
  for (TokenId i = 0; i < 300'000; ++i) {
    const std::string word = std::to_string(i);
    cache.insert(word, hash_text(word), Ids{i, -i});
    Ids out;
    ASSERT_TRUE(cache.find(word, hash_text(word), out)) << i;
    ASSERT_EQ(out, (Ids{i, -i}));
    if (i == 100'000) {
      out.clear();
      EXPECT_TRUE(cache.find("0", hash_text("0"), out));
      EXPECT_EQ(out, (Ids{0, 0}));
    }
  }
  Ids out;
  EXPECT_FALSE(cache.find("0", hash_text("0"), out));  // it was full in between
}

}  // namespace
}  // namespace fathom::codec
