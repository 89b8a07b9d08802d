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
  PieceIndex index(10);  // grows
  std::map<std::string, TokenId> reference;
  for (size_t i = 0; i < texts.size(); i += 2) {
    index.insert(texts[i], static_cast<TokenId>(i));
    reference.try_emplace(texts[i], static_cast<TokenId>(i));  // the first stays
  }
  for (const std::string& text : texts) {
    const auto found = reference.find(text);
    EXPECT_EQ(index.find(text),
              found == reference.end() ? std::nullopt : std::optional(found->second));
  }
}

}  // namespace
}  // namespace fathom::codec
