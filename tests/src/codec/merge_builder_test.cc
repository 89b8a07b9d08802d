// Rules spelled as texts: found by their ids, in their order, in runs longer than one batch.
// Called by ctest. Read next: src/codec/merge_builder.cc.
#include "codec/merge_builder.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace fathom::codec {
namespace {

std::vector<TokenId> all_ids(size_t n) {
  std::vector<TokenId> ids(n);
  for (size_t i = 0; i < n; ++i) {
    ids[i] = static_cast<TokenId>(i);
  }
  return ids;
}

MergeOptions throwing_options() {
  MergeOptions options;
  options.on_missing = [](size_t rank, std::string_view missing) {
    throw std::out_of_range(std::to_string(rank) + ":" + std::string(missing));
  };
  return options;
}

TEST(MergeTableOfTexts, FindsEveryRule) {
  // Texts "0" to "9" and all pairs of them; the rules in an order that no guess follows.
  std::vector<std::string> texts;
  for (int i = 0; i < 10; ++i) {
    texts.push_back(std::to_string(i));
  }
  for (int i = 0; i < 100; ++i) {
    texts.push_back(std::to_string(i / 10) + std::to_string(i % 10));
  }
  PieceIndex index(texts);
  index.insert_all(all_ids(texts.size()));
  MergeRules rules;
  for (size_t rank = 0; rank < 100; ++rank) {
    const size_t pair = rank * 37 % 100;
    rules.push_back({texts[pair / 10], texts[pair % 10]});
  }
  for (const int n_threads : {0, 1, 2, 3, 100, 101}) {
    MergeOptions options = throwing_options();
    options.n_threads = n_threads;
    const MergeTable table = make_merge_table(index, rules, options);
    for (size_t rank = 0; rank < 100; ++rank) {
      const size_t pair = rank * 37 % 100;
      const auto merge =
          table.find(static_cast<TokenId>(pair / 10), static_cast<TokenId>(pair % 10));
      EXPECT_EQ(merge.rank, rank);
      EXPECT_EQ(merge.result, static_cast<TokenId>(10 + pair));
    }
  }
}

TEST(MergeTableOfTexts, ARightPieceLosesItsPrefix) {
  const std::vector<std::string> texts = {"a", "##b", "ab"};
  PieceIndex index(texts);
  index.insert_all(all_ids(texts.size()));
  MergeOptions with_prefix = throwing_options();
  with_prefix.continuing_prefix = 2;
  const MergeRules rules = {{"a", "##b"}};
  EXPECT_EQ(make_merge_table(index, rules, with_prefix).find(0, 1).result, 2);
}

TEST(MergeTableOfTexts, OfTwoRulesTheFirstOrTheLastCounts) {
  const std::vector<std::string> texts = {"a", "aa"};
  PieceIndex index(texts);
  index.insert_all(all_ids(texts.size()));
  for (const bool last_wins : {false, true}) {
    MergeOptions twice = throwing_options();
    twice.last_wins = last_wins;
    const MergeRules rules = {{"a", "a"}, {"a", "a"}};
    EXPECT_EQ(make_merge_table(index, rules, twice).find(0, 0).rank, last_wins ? 1u : 0u);
  }
}

TEST(MergeTableOfTexts, NamesWhatIsMissing) {
  const std::vector<std::string> texts = {"a", "b", "ab"};
  PieceIndex index(texts);
  index.insert_all(all_ids(texts.size()));
  const auto missing_of = [&](std::string_view left, std::string_view right) -> std::string {
    const MergeRules rules = {{"a", "b"}, {left, right}, {"z", "z"}};
    MergeOptions options = throwing_options();
    options.n_threads = 2;
    try {
      make_merge_table(index, rules, options);
    } catch (const std::out_of_range& error) {
      return error.what();
    }
    return "nothing";
  };
  EXPECT_EQ(missing_of("x", "a"), "1:x");
  EXPECT_EQ(missing_of("a", "y"), "1:y");
  EXPECT_EQ(missing_of("b", "a"), "1:ba");
  EXPECT_EQ(missing_of("a", "b"), "2:z");
}

}  // namespace
}  // namespace fathom::codec
