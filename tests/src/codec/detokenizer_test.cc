// Streams: every split gives the whole, characters stay whole, stop strings across token borders.
// Called by ctest. Read next: tests/src/codec/test_vocabulary.h.
#include "codec/detokenizer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "codec/utf8.h"
#include "src/codec/test_vocabulary.h"

namespace fathom::codec {
namespace {

struct Streamed {
  std::vector<std::string> pieces;  // one a token, then finish()
  std::string text;
  bool stopped = false;
  size_t n_tokens = 0;  // pushed
};

Streamed stream(const Tokenizer& tokenizer, const std::vector<TokenId>& ids,
                std::vector<std::string> stops = {}, bool continues_text = false) {
  StreamDecoder decoder(tokenizer, std::move(stops), continues_text);
  Streamed out;
  for (const TokenId id : ids) {
    const StreamDecoder::Piece piece = decoder.push(id);
    ++out.n_tokens;
    out.pieces.push_back(piece.text);
    out.text += piece.text;
    if (piece.stopped) {
      out.stopped = true;
      return out;
    }
  }
  out.pieces.push_back(decoder.finish());
  out.text += out.pieces.back();
  return out;
}

// The alphabet as a model would answer it: words 256 "DEF", 257 "GH", 258 "IJ" and single letters.
class Alphabet : public ::testing::Test {
 protected:
  std::unique_ptr<Tokenizer> tokenizer_ =
      make_tokenizer(test::make_byte_vocabulary({"DEF", "GH", "LM", "OP"}, {"<|end|>"}));
  std::vector<TokenId> answer_ = {256, 257, 'I', 'J', 'K', 258, 'N', 259};  // DEFGHIJKLMNOP
};

TEST_F(Alphabet, LongStopLeaksNothing) {
  const Streamed out = stream(*tokenizer_, answer_, {"DEFGHIJ"});
  EXPECT_TRUE(out.stopped);
  EXPECT_EQ(out.n_tokens, 4u);
  for (const std::string& piece : out.pieces) {
    EXPECT_EQ(piece, "");
  }
}

TEST_F(Alphabet, StopEndsInsideAToken) {
  EXPECT_EQ(stream(*tokenizer_, answer_, {"DE"}).text, "");
  EXPECT_EQ(stream(*tokenizer_, answer_, {"DE"}).n_tokens, 1u);
  const Streamed out = stream(*tokenizer_, answer_, {"FGH"});
  EXPECT_EQ(out.pieces, (std::vector<std::string>{"DE", ""}));  // the F waits
  EXPECT_TRUE(out.stopped);
  EXPECT_FALSE(stream(*tokenizer_, answer_, {"C"}).stopped);
}

TEST_F(Alphabet, FalseAlarmIsReleased) {
  const Streamed whole = stream(*tokenizer_, answer_, {"DEFX"});
  EXPECT_EQ(whole.text, "DEFGHIJKLMNOP");
  EXPECT_EQ(whole.pieces[0], "");
  EXPECT_EQ(whole.pieces[1], "DEFGH");
  const Streamed last = stream(*tokenizer_, answer_, {"PQ"});
  EXPECT_EQ(last.pieces[7], "O");
  EXPECT_EQ(last.pieces[8], "P");  // finish() releases it
  EXPECT_FALSE(last.stopped);
}

TEST_F(Alphabet, HoldsBackTheLongestBeginningAndNoMore) {
  // After "DEFGH" the end "H" begins the first stop, "GH" the second: two letters wait.
  const Streamed out = stream(*tokenizer_, answer_, {"HX", "GHX"});
  EXPECT_EQ(out.pieces[0], "DEF");
  EXPECT_EQ(out.pieces[1], "");
  EXPECT_EQ(out.pieces[2], "GHI");
}

TEST_F(Alphabet, SelfOverlappingStop) {
  // "aabaabaac" is found behind a false start that shares letters with it.
  const std::string text = "xaabaabaabaac!";
  const std::vector<TokenId> ids(text.begin(), text.end());
  const Streamed out = stream(*tokenizer_, ids, {"aabaabaac"});
  EXPECT_TRUE(out.stopped);
  EXPECT_EQ(out.text, "xaab");
}

TEST_F(Alphabet, OfSeveralStopsTheOneCompleteFirstWins) {
  EXPECT_EQ(stream(*tokenizer_, answer_, {"HIJK", "I"}).text, "DEFGH");
  // Complete with the same letter: the longer one takes more away.
  EXPECT_EQ(stream(*tokenizer_, answer_, {"HI", "GHI", "I"}).text, "DEF");
  // Both inside one token: the same as letter by letter.
  EXPECT_EQ(stream(*tokenizer_, answer_, {"DEF", "E"}).text, "D");
}

TEST_F(Alphabet, ControlTokensAddNothing) {
  EXPECT_EQ(stream(*tokenizer_, {256, 260, 257}, {"FG"}).text, "DE");
  EXPECT_EQ(stream(*tokenizer_, {260, 'a', 260}).text, "a");
}

TEST_F(Alphabet, AfterTheStopNothingComes) {
  StreamDecoder decoder(*tokenizer_, {"D"});
  EXPECT_TRUE(decoder.push(256).stopped);
  EXPECT_EQ(decoder.push('x').text, "");
  EXPECT_EQ(decoder.finish(), "");
}

TEST_F(Alphabet, EmptyStopIsRefused) {
  try {
    StreamDecoder decoder(*tokenizer_, {"a", ""});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
  }
}

TEST_F(Alphabet, LongStopsCostLinearTime) {
  // Every letter of the text matches far into the stop, then falls back: amortized one step each.
  const std::string stop(500'000, 'a');
  StreamDecoder decoder(*tokenizer_, {stop + "b", stop + "c"});
  std::string text;
  for (int i = 0; i < 600'000; ++i) {
    text += decoder.push('a').text;
  }
  EXPECT_EQ(text.size(), 100'000u);
  EXPECT_EQ(decoder.finish().size(), 500'000u);
}

// Four emoji as F0 9F | 98 | 80, between plain letters.
TEST(Characters, EmojiOverThreeTokensComesWhole) {
  const auto tokenizer = make_tokenizer(test::make_byte_vocabulary({"\xF0\x9F"}, {}));
  std::vector<TokenId> ids = {'a'};
  for (int i = 0; i < 4; ++i) {
    ids.insert(ids.end(), {256, 0x98, 0x80});
  }
  ids.push_back('b');
  const Streamed out = stream(*tokenizer, ids);
  const std::string emoji = "\xF0\x9F\x98\x80";
  const std::vector<std::string> expected = {"a", "",    "", emoji, "",    "",  emoji, "",
                                             "",  emoji, "", "",    emoji, "b", ""};
  EXPECT_EQ(out.pieces, expected);
}

TEST(Characters, UnfinishedOneBecomesAReplacement) {
  const auto tokenizer = make_tokenizer(test::make_byte_vocabulary({}, {}));
  EXPECT_EQ(stream(*tokenizer, {0xF0, 0x9F}).pieces,
            (std::vector<std::string>{"", "", "\xEF\xBF\xBD"}));
  EXPECT_EQ(stream(*tokenizer, {0xF0, 'a'}).pieces, (std::vector<std::string>{"",
                                                                              "\xEF\xBF\xBD"
                                                                              "a",
                                                                              ""}));
}

TEST(Characters, StopInsideACharacterNeverCutsIt) {
  const auto tokenizer = make_tokenizer(test::make_byte_vocabulary({}, {}));
  // The stop begins like the second half of nothing: two characters that share a first byte.
  const Streamed out = stream(*tokenizer, {0xC3, 0xA9, 0xC3, 0xA8, 'x'}, {"\xC3\xA8y"});
  EXPECT_EQ(out.pieces, (std::vector<std::string>{"", "\xC3\xA9", "", "", "\xC3\xA8x", ""}));
  for (const std::string& piece : stream(*tokenizer, {0xC3, 0xA9, 'x'}, {"\xA9z"}).pieces) {
    EXPECT_TRUE(is_valid_utf8(piece));
  }
}

TEST(Blanks, FirstBlankIsDroppedOnceUnlessTheTextGoesOn) {
  const std::string blank = "\xE2\x96\x81";
  const auto tokenizer = make_tokenizer(test::make_piece_vocabulary({blank + "Hi", blank}));
  EXPECT_EQ(stream(*tokenizer, {1, 259, 259, 2}).text, "Hi Hi");
  EXPECT_EQ(stream(*tokenizer, {260, 259}).text, " Hi");
  EXPECT_EQ(stream(*tokenizer, {259, 259}, {}, true).text, " Hi Hi");
}

// Random ids of a real vocabulary, bytes of broken characters included.
TEST(Streams, PiecesTogetherAreTheWhole) {
  for (const char* name : {"bytes.json", "pieces.json"}) {
    const nlohmann::json file = test::read_case_file(name);
    weights::Metadata metadata = test::to_metadata(file.at("metadata"));
    metadata.set("tokenizer.ggml.pre", std::string("gpt-2"));
    const auto tokenizer = make_tokenizer(metadata);
    const auto n_vocab = static_cast<unsigned>(tokenizer->vocabulary().texts.size());
    std::mt19937 random(3);
    for (int round = 0; round < 500; ++round) {
      std::vector<TokenId> ids;
      for (size_t i = 0; i < 1 + random() % 30; ++i) {
        ids.push_back(static_cast<TokenId>(random() % (round % 2 == 0 ? n_vocab : 270)));
      }
      const std::string whole = tokenizer->decode(ids, false);
      const Streamed out = stream(*tokenizer, ids, {"never in here"});
      ASSERT_EQ(out.text, whole) << name << " round " << round;
      for (const std::string& piece : out.pieces) {
        ASSERT_TRUE(is_valid_utf8(piece));
      }
    }
  }
}

// A stop string taken from the text itself must cut at its earliest end, however tokens fall.
TEST(Streams, StopCutsWhereASearchWould) {
  const auto tokenizer = make_tokenizer(test::make_byte_vocabulary({"ab", "ba", "aba"}, {}));
  std::mt19937 random(4);
  for (int round = 0; round < 2000; ++round) {
    std::vector<TokenId> ids;
    for (int i = 0; i < 20; ++i) {
      static constexpr TokenId kChoices[] = {'a', 'b', 256, 257, 258};
      ids.push_back(kChoices[random() % std::size(kChoices)]);
    }
    std::vector<std::string> stops;
    for (size_t s = 0; s < 1 + random() % 3; ++s) {
      std::string stop;
      for (size_t i = 0; i < 1 + random() % 6; ++i) {
        stop += random() % 2 == 0 ? 'a' : 'b';
      }
      stops.push_back(stop);
    }
    const std::string whole = tokenizer->decode(ids, false);
    size_t best_end = std::string::npos;
    size_t best_begin = whole.size();
    for (const std::string& stop : stops) {
      const size_t begin = whole.find(stop);
      if (begin == std::string::npos) {
        continue;
      }
      const size_t end = begin + stop.size();
      if (end < best_end || (end == best_end && begin < best_begin)) {
        best_end = end;
        best_begin = begin;
      }
    }
    const Streamed out = stream(*tokenizer, ids, stops);
    ASSERT_EQ(out.stopped, best_end != std::string::npos);
    ASSERT_EQ(out.text, whole.substr(0, best_begin));
  }
}

TEST(Streams, SayWhichStopStringEndedThem) {
  const auto tokenizer = make_tokenizer(test::make_byte_vocabulary({"ab"}, {}));
  StreamDecoder decoder(*tokenizer, {"b", "ab", "c"});
  EXPECT_EQ(decoder.push('x').stop, "");
  const StreamDecoder::Piece piece = decoder.push(256);
  EXPECT_TRUE(piece.stopped);
  EXPECT_EQ(piece.stop, "ab");  // of two that are complete at once the longer one
}

TEST(Streams, UnwatchedTextStopsNothing) {
  const auto tokenizer = make_tokenizer(test::make_byte_vocabulary({}, {}));
  StreamDecoder decoder(*tokenizer, {"aab"});
  EXPECT_EQ(decoder.push('a').text, "");  // held back
  EXPECT_EQ(decoder.push_unwatched('a').text, "aa");
  EXPECT_EQ(decoder.push('b').text, "b");  // its begin was not watched
  EXPECT_EQ(decoder.push('a').text, "");
  EXPECT_EQ(decoder.push('a').text, "");
  EXPECT_TRUE(decoder.push('b').stopped);
}

}  // namespace
}  // namespace fathom::codec
