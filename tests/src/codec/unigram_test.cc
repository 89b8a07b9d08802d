// The best cut against a search of all cuts; unknown characters; files that lack what is needed.
// Called by ctest. Read next: src/codec/unigram.cc.
#include "codec/unigram.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "support/error_check.h"

namespace fathom::codec {
namespace {

using Ids = std::vector<TokenId>;

struct Piece {
  std::string text;
  float score;
  TokenKind kind = TokenKind::kNormal;
};

Vocabulary make_vocabulary(const std::vector<Piece>& pieces) {
  Vocabulary vocabulary;
  for (const Piece& piece : pieces) {
    vocabulary.texts.push_back(piece.text);
    vocabulary.scores.push_back(piece.score);
    vocabulary.kinds.push_back(piece.kind);
  }
  return vocabulary;
}

std::vector<bool> normal_pieces(const Vocabulary& vocabulary) {
  std::vector<bool> is_piece;
  for (const TokenKind kind : vocabulary.kinds) {
    is_piece.push_back(kind == TokenKind::kNormal || kind == TokenKind::kUserDefined);
  }
  return is_piece;
}

Ids encode(const Vocabulary& vocabulary, std::string_view text,
           const UnigramModel::Options& options) {
  const UnigramModel model(vocabulary, normal_pieces(vocabulary), "t", options);
  Ids ids;
  model.start()->add(text, ids);
  return ids;
}

TEST(Unigram, TakesTheHighestSum) {
  const Vocabulary vocabulary = make_vocabulary({{"<unk>", 0, TokenKind::kUnknown},
                                                 {"a", -1},
                                                 {"b", -1},
                                                 {"ab", -1.5},
                                                 {"ba", -3},
                                                 {"aba", -2.4f}});
  const UnigramModel::Options options{.unk = 0};
  EXPECT_EQ(encode(vocabulary, "ab", options), (Ids{3}));
  EXPECT_EQ(encode(vocabulary, "aba", options), (Ids{5}));      // -2.4 against -2.5
  EXPECT_EQ(encode(vocabulary, "abab", options), (Ids{3, 3}));  // -3 against -3.4
  EXPECT_EQ(encode(vocabulary, "bb", options), (Ids{2, 2}));
}

TEST(Unigram, AgreesWithASearchOfAllCuts) {
  std::mt19937 random(5);
  for (int round = 0; round < 100; ++round) {
    std::vector<Piece> pieces = {{"a", -5}, {"b", -6}};
    for (int i = 0; i < 8; ++i) {
      std::string text;
      for (size_t n = 2 + random() % 3; n > 0; --n) {
        text += "ab"[random() % 2];
      }
      const bool is_new = std::none_of(pieces.begin(), pieces.end(),
                                       [&](const Piece& piece) { return piece.text == text; });
      if (is_new) {
        pieces.push_back({text, -1.0f - static_cast<float>(random() % 1000) / 64});
      }
    }
    std::string text;
    for (size_t n = 1 + random() % 12; n > 0; --n) {
      text += "ab"[random() % 2];
    }
    // best[i]: the best sum for the first i letters.
    std::vector<double> best(text.size() + 1, -std::numeric_limits<double>::infinity());
    best[0] = 0;
    for (size_t end = 1; end <= text.size(); ++end) {
      for (const Piece& piece : pieces) {
        if (text.substr(0, end).ends_with(piece.text)) {
          best[end] = std::max(best[end], best[end - piece.text.size()] + double{piece.score});
        }
      }
    }
    const Vocabulary vocabulary = make_vocabulary(pieces);
    double sum = 0;
    std::string back;
    for (const TokenId id : encode(vocabulary, text, {})) {
      sum += double{vocabulary.scores[static_cast<size_t>(id)]};
      back += vocabulary.texts[static_cast<size_t>(id)];
    }
    ASSERT_EQ(back, text);
    ASSERT_NEAR(sum, best.back(), 1e-9) << text;
  }
}

TEST(Unigram, UnknownCharactersAreOneTokenOrTheirBytes) {
  std::vector<Piece> pieces = {{"<unk>", 0, TokenKind::kUnknown}, {"a", -1}};
  EXPECT_EQ(encode(make_vocabulary(pieces), "a\u4f60\u597da\u4f60", {.unk = 0}), (Ids{1, 0, 1, 0}));
  EXPECT_EQ(encode(make_vocabulary(pieces), "\u4f60\u597d", {.unk = 0, .fuses_unknown = false}),
            (Ids{0, 0}));
  for (const char* byte : {"<0xC3>", "<0xA9>"}) {
    pieces.push_back({byte, 0, TokenKind::kByte});
  }
  const UnigramModel::Options bytes{.unk = 0, .byte_fallback = true};
  EXPECT_EQ(encode(make_vocabulary(pieces), "a\u00e9", bytes), (Ids{1, 2, 3}));
  EXPECT_EQ(encode(make_vocabulary(pieces), "a\u00e8", bytes), (Ids{1, 0}));  // a byte is missing
}

TEST(Unigram, WithoutUnknownTokenSuchTextIsAnError) {
  const Vocabulary vocabulary = make_vocabulary({{"a", -1}});
  fathom::test::expect_error([&] { encode(vocabulary, "ab", {}); }, ErrorCode::kCorruptFile,
                             {"'b' is in no piece", "no unknown token"});
}

TEST(Unigram, RefusesAVocabularyWithoutScores) {
  Vocabulary vocabulary = make_vocabulary({{"a", -1}, {"b", -1}});
  vocabulary.scores.pop_back();
  fathom::test::expect_error(
      [&] {
        UnigramModel(vocabulary, {true, true}, "t.json", {});
      },
      ErrorCode::kCorruptFile, {"t.json", "1 scores for 2 pieces"});
}

}  // namespace
}  // namespace fathom::codec
