// Pairs to ranks: hits, misses, the first of two rules.
// Called by ctest.
#include "codec/merge_table.h"

#include <gtest/gtest.h>

namespace fathom::codec {
namespace {

TEST(MergeTable, FindsPairsInTheirOrder) {
  MergeTable table(1000);
  for (TokenId i = 0; i < 1000; ++i) {
    table.insert(i, 2 * i + 1, {.rank = static_cast<uint32_t>(i), .result = 5000 + i});
  }
  table.insert(7, 15, {.rank = 9999, .result = 1});
  for (TokenId i = 0; i < 1000; ++i) {
    EXPECT_EQ(table.find(i, 2 * i + 1).rank, static_cast<uint32_t>(i));
    EXPECT_EQ(table.find(i, 2 * i + 1).result, 5000 + i);
    EXPECT_EQ(table.find(2 * i + 1, i).rank, UINT32_MAX);
  }
  EXPECT_EQ(MergeTable(0).find(0, 0).rank, UINT32_MAX);
}

}  // namespace
}  // namespace fathom::codec
