// Longest match from the left, words that are too long, and whole words.
// Called by ctest. Read next: src/codec/word_piece.cc.
#include "codec/word_piece.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/error_check.h"

namespace fathom::codec {
namespace {

using Ids = std::vector<TokenId>;

const std::vector<std::string>& texts() {
  static const std::vector<std::string> kTexts = {"[UNK]", "un",      "##aff",    "##able",
                                                  "##a",   "\u00e9t", "##\u00e9", "una"};
  return kTexts;
}

Ids encode(std::string_view word, WordPieceOptions options) {
  PieceIndex index(texts());
  for (size_t id = 0; id < texts().size(); ++id) {
    index.insert(static_cast<TokenId>(id));
  }
  const WordPieceModel model(std::move(index), std::move(options));
  Ids ids;
  model.start()->add(word, ids);
  return ids;
}

WordPieceOptions bert() {
  return {.unk = 0, .continuing_prefix = "##", .first_prefix = {}};
}

TEST(WordPiece, TakesTheLongestPieceFromTheLeft) {
  EXPECT_EQ(encode("unaffable", bert()), Ids{0});  // "una" is taken and nothing goes on from it
  EXPECT_EQ(encode("unaa", bert()), (Ids{7, 4}));
  EXPECT_EQ(encode("\u00e9t\u00e9", bert()), (Ids{5, 6}));
  EXPECT_EQ(encode("\u00e9x", bert()), Ids{0});
  EXPECT_EQ(encode("##aff", bert()), (Ids{2}));  // as the reference: the text itself is an entry
}

TEST(WordPiece, LongWordsAreUnknown) {
  WordPieceOptions options = bert();
  options.most_characters = 3;
  EXPECT_EQ(encode("una", options), Ids{7});
  EXPECT_EQ(encode("unaa", options), Ids{0});
  EXPECT_EQ(encode("\u00e9t\u00e9", options), (Ids{5, 6}));  // characters, not bytes
}

TEST(WordPiece, WholeWordsOrNothing) {
  WordPieceOptions options = bert();
  options.whole_words = true;
  EXPECT_EQ(encode("una", options), Ids{7});
  EXPECT_EQ(encode("unaa", options), Ids{0});
}

TEST(WordPiece, WithoutUnknownTokenSuchAWordIsAnError) {
  WordPieceOptions options = bert();
  options.unk = std::nullopt;
  fathom::test::expect_error([&] { encode("xyz", options); }, ErrorCode::kUnsupported,
                             {"'xyz' is in no piece"});
}

}  // namespace
}  // namespace fathom::codec
