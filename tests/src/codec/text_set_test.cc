// The longest of several texts at a place, against a plain search.
// Called by ctest. Read next: src/codec/text_set.cc.
#include "codec/text_set.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace fathom::codec {
namespace {

TEST(TextSet, FindsTheLongest) {
  const TextSet set({{"a", 0}, {"abc", 1}, {"ab", 2}, {"", 3}, {"abc", 4}, {"xy", 5}});
  ASSERT_FALSE(set.is_empty());
  EXPECT_EQ(set.find_longest("abcd", 0)->value, 1u);  // the first of two equal texts
  EXPECT_EQ(set.find_longest("abx", 0)->value, 2u);
  EXPECT_EQ(set.find_longest("a", 0)->value, 0u);
  EXPECT_EQ(set.find_longest("zab", 1)->value, 2u);
  EXPECT_EQ(set.find_longest("x", 0), nullptr);
  EXPECT_EQ(set.find_longest("bab", 0), nullptr);
  EXPECT_TRUE(TextSet().is_empty());
  EXPECT_EQ(TextSet().find_longest("a", 0), nullptr);
}

TEST(TextSet, AgreesWithAPlainSearch) {
  std::mt19937 random(3);
  const auto word = [&](size_t most) {
    std::string text;
    for (size_t n = 1 + random() % most; n > 0; --n) {
      text += "ab\0\xFF"[random() % 4];
    }
    return text;
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<TextSet::Entry> entries;
    for (size_t i = 0; i < 1 + random() % 12; ++i) {
      entries.push_back({word(5), i});
    }
    const TextSet set(entries);
    const std::string text = word(40);
    for (size_t at = 0; at < text.size(); ++at) {
      const TextSet::Entry* best = nullptr;
      for (const TextSet::Entry& entry : entries) {
        if (text.compare(at, entry.text.size(), entry.text) == 0 &&
            (best == nullptr || entry.text.size() > best->text.size())) {
          best = &entry;
        }
      }
      const TextSet::Entry* found = set.find_longest(text, at);
      ASSERT_EQ(found == nullptr, best == nullptr) << round << " " << at;
      ASSERT_TRUE(found == nullptr || found->value == best->value) << round << " " << at;
    }
  }
}

}  // namespace
}  // namespace fathom::codec
