// Hashes of scopes and pages: equal where all parts are equal, and no two parts run together.
#include "kv/prefix_key.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "kv/layout.h"

namespace fathom::kv {
namespace {

TEST(PrefixKey, EveryPartOfAScopeCounts) {
  const PrefixScope base = {{PageType::kBF16, 0, 0}, "s", "m", "a"};
  std::vector<PrefixScope> scopes(7, base);
  scopes[1].header.type = PageType::kF32;
  scopes[2].header.arithmetic = 1;
  scopes[3].header.rope_id = 5;
  scopes[4].salt = "t";
  scopes[5].model = "n";
  scopes[6].adapter = "";
  std::set<uint64_t> hashes;
  for (const PrefixScope& scope : scopes) {
    hashes.insert(hash_scope(scope));
    EXPECT_EQ(scope == base, hash_scope(scope) == hash_scope(base));
  }
  EXPECT_EQ(hashes.size(), scopes.size());
}

// vllm#44701: a salt that reads like an adapter's name must not meet that adapter.
TEST(PrefixKey, TextsDoNotRunTogether) {
  std::set<uint64_t> hashes;
  for (const PrefixScope& scope : {PrefixScope{{}, "x", "", ""}, PrefixScope{{}, "", "x", ""},
                                   PrefixScope{{}, "", "", "x"}, PrefixScope{{}, "xx", "", ""},
                                   PrefixScope{{}, "x", "x", ""}, PrefixScope{{}, "x", "", "x"}}) {
    hashes.insert(hash_scope(scope));
  }
  EXPECT_EQ(hashes.size(), 6U);
}

TEST(PrefixKey, PagesAreChained) {
  std::vector<int32_t> tokens(3 * kPageTokens, 1);
  PrefixKey key({});
  const uint64_t third = key.hash(hash_page, tokens, 2);
  EXPECT_NE(key.hash(hash_page, tokens, 0), key.hash(hash_page, tokens, 1));
  PrefixKey same({});
  EXPECT_EQ(same.hash(hash_page, tokens, 2), third);  // asked in any order
  tokens[5] = 2;
  PrefixKey other({});
  EXPECT_NE(other.hash(hash_page, tokens, 2), third);  // another beginning, the same third page
  PrefixKey salted({{}, "salt", "", ""});
  EXPECT_NE(salted.hash(hash_page, tokens, 2), other.hash(hash_page, tokens, 2));
}

// Each page is hashed once, however often it is asked for.
TEST(PrefixKey, HashesAreKept) {
  const std::vector<int32_t> tokens(4 * kPageTokens, 3);
  int n_calls = 0;
  const PageHash counting = [&](uint64_t before, std::span<const int32_t> content) {
    ++n_calls;
    return hash_page(before, content);
  };
  PrefixKey key({});
  key.hash(counting, tokens, 1);
  key.hash(counting, tokens, 0);
  EXPECT_EQ(n_calls, 2);
  key.hash(counting, tokens, 3);
  EXPECT_EQ(n_calls, 4);
}

TEST(PrefixKey, EveryEndHasItsName) {
  std::set<std::string_view> names;
  for (const CacheEnd end : {CacheEnd::kOff, CacheEnd::kEndOfPrompt, CacheEnd::kLastToken,
                             CacheEnd::kNotSeen, CacheEnd::kEvicted}) {
    names.insert(name_of(end));
  }
  EXPECT_EQ(names.size(), 5U);
}

}  // namespace
}  // namespace fathom::kv
