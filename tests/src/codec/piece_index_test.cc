// The hash table against std::map, beyond its first size, and with texts that share beginnings.
// Called by ctest.
#include "codec/piece_index.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

namespace fathom::codec {
namespace {

TEST(PieceIndex, FindsWhatIsThereAndNothingElse) {
  std::mt19937 random(6);
  std::vector<std::string> texts;
  for (int i = 0; i < 5000; ++i) {
    std::string text;
    for (size_t n = random() % 20; n > 0; --n) {
      text += static_cast<char>('a' + random() % 3);
    }
    texts.push_back(text);
  }
  PieceIndex index(texts);
  std::map<std::string, TokenId> reference;
  for (size_t i = 0; i < texts.size(); i += 2) {
    const bool is_new = reference.try_emplace(texts[i], static_cast<TokenId>(i)).second;
    EXPECT_EQ(index.insert(static_cast<TokenId>(i)),
              is_new || texts[i].empty());  // the first stays
  }
  reference.erase("");  // the empty text is never there
  for (const std::string& text : texts) {
    const auto found = reference.find(text);
    EXPECT_EQ(index.find(text),
              found == reference.end() ? std::nullopt : std::optional(found->second));
  }
}

TEST(PieceIndex, HoldsMoreAliasesThanItWasMadeFor) {
  const std::vector<std::string> texts = {"a", "b"};
  PieceIndex index(texts);
  index.insert(0);
  for (int i = 0; i < 1000; ++i) {
    index.insert_alias("alias " + std::to_string(i), 1);
  }
  index.insert_alias("a", 1);  // the first stays
  EXPECT_EQ(index.find("a"), 0);
  EXPECT_EQ(index.find("b"), std::nullopt);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(index.find("alias " + std::to_string(i)), 1);
  }
  EXPECT_EQ(index.longest(), 9u);
}

}  // namespace
}  // namespace fathom::codec
