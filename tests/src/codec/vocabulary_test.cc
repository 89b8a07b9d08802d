// Broken vocabularies: one clear error each, with file and key in the message; and what a good one
// gives. Called by ctest. Read next: tests/src/codec/test_vocabulary.h.
#include "codec/vocabulary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "src/codec/test_vocabulary.h"

namespace fathom::codec {
namespace {

using test::make_byte_vocabulary;
using test::make_piece_vocabulary;
using test::Metadata;

TEST(Vocabulary, ReadsEveryKey) {
  Metadata metadata = make_piece_vocabulary({"a"});
  metadata.set("tokenizer.ggml.pre", std::string("default"));
  metadata.set("tokenizer.ggml.eot_token_id", int64_t{7});
  metadata.set("tokenizer.ggml.eom_token_id", int64_t{8});
  metadata.set("tokenizer.ggml.padding_token_id", int64_t{9});
  metadata.set("tokenizer.ggml.add_eos_token", true);
  metadata.set("tokenizer.chat_template", std::string("T"));
  const Vocabulary v = read_vocabulary(metadata);
  EXPECT_EQ(v.texts.size(), 260u);
  EXPECT_EQ(v.texts[259], "a");
  EXPECT_EQ(v.scores[259], -259.0F);
  EXPECT_EQ(v.kinds[0], TokenKind::kUnknown);
  EXPECT_EQ(v.kinds[3], TokenKind::kByte);
  EXPECT_EQ(v.bos, 1);
  EXPECT_EQ(v.eos, 2);
  EXPECT_EQ(v.unk, 0);
  EXPECT_EQ(v.eot, 7);
  EXPECT_EQ(v.eom, 8);
  EXPECT_EQ(v.pad, 9);
  EXPECT_FALSE(v.add_bos);
  EXPECT_TRUE(v.add_eos);
  EXPECT_EQ(v.chat_template, "T");
  EXPECT_EQ(v.model, "llama");
  EXPECT_EQ(v.pre, "default");
}

TEST(Vocabulary, ByteTokenText) {
  EXPECT_EQ(parse_byte_token("<0x00>"), 0);
  EXPECT_EQ(parse_byte_token("<0xAf>"), 0xAF);
  for (const char* text :
       {"", "<0x>", "<0x1>", "<0x-1>", "<0xZZ>", "<0x001>", "<0x00 ", " 0x00>"}) {
    EXPECT_EQ(parse_byte_token(text), -1) << text;
  }
}

// ---- bad files: one kCorruptFile or kUnsupported each, with file and key in the message.
struct BadFile {
  const char* name;
  void (*spoil)(Metadata&);
  ErrorCode code;
  const char* key;
};

class BadVocabulary : public ::testing::TestWithParam<BadFile> {};

TEST_P(BadVocabulary, IsRefusedByName) {
  Metadata metadata = make_byte_vocabulary({"ab"}, {});
  GetParam().spoil(metadata);
  try {
    make_tokenizer(metadata);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), GetParam().code) << error.what();
    EXPECT_NE(std::string(error.what()).find("test.gguf"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(GetParam().key), std::string::npos) << error.what();
  }
}

using Strings = std::vector<std::string>;
using Ints = std::vector<int64_t>;
using Doubles = std::vector<double>;

void use_pieces(Metadata& m) {
  m = make_piece_vocabulary({"a"});
}

template <size_t kId>
void rename_byte_token(Metadata& m, const char* text) {
  use_pieces(m);
  Strings tokens = *m.find_strings("tokenizer.ggml.tokens");
  tokens[kId] = text;
  m.set("tokenizer.ggml.tokens", tokens);
}

const BadFile kBadFiles[] = {
    {"ModelUnknown", [](Metadata& m) { m.set("tokenizer.ggml.model", std::string("rwkv")); },
     ErrorCode::kUnsupported, "'rwkv'"},
    {"ModelOtherType", [](Metadata& m) { m.set("tokenizer.ggml.model", int64_t{3}); },
     ErrorCode::kCorruptFile, "tokenizer.ggml.model"},
    {"PreMissing", [](Metadata& m) { m.set("tokenizer.ggml.pre", std::monostate()); },
     ErrorCode::kUnsupported, "'gpt2'"},
    {"PreUnknown", [](Metadata& m) { m.set("tokenizer.ggml.pre", std::string("nosuch")); },
     ErrorCode::kUnsupported, "'nosuch'"},
    {"TokensMissing", [](Metadata& m) { m.set("tokenizer.ggml.tokens", std::monostate()); },
     ErrorCode::kCorruptFile, "tokenizer.ggml.tokens"},
    {"TokensEmpty", [](Metadata& m) { m.set("tokenizer.ggml.tokens", Strings{}); },
     ErrorCode::kCorruptFile, "tokenizer.ggml.tokens"},
    {"TokensNumbers", [](Metadata& m) { m.set("tokenizer.ggml.tokens", Ints(257, 1)); },
     ErrorCode::kCorruptFile, "tokenizer.ggml.tokens"},
    {"TokensFewerThanVocabSize",
     [](Metadata& m) {
       m.set("general.architecture", std::string("some"));
       m.set("some.vocab_size", int64_t{300});
     },
     ErrorCode::kCorruptFile, "some.vocab_size"},
    {"KindsShort", [](Metadata& m) { m.set("tokenizer.ggml.token_type", Ints(256, 1)); },
     ErrorCode::kCorruptFile, "tokenizer.ggml.token_type"},
    {"KindsStrings", [](Metadata& m) { m.set("tokenizer.ggml.token_type", Strings(257, "1")); },
     ErrorCode::kCorruptFile, "tokenizer.ggml.token_type"},
    {"KindsOutOfRange", [](Metadata& m) { m.set("tokenizer.ggml.token_type", Ints(257, 7)); },
     ErrorCode::kCorruptFile, "tokenizer.ggml.token_type"},
    {"ScoresLong", [](Metadata& m) { m.set("tokenizer.ggml.scores", Doubles(258, 0)); },
     ErrorCode::kCorruptFile, "tokenizer.ggml.scores"},
    {"ScoresIntegers", [](Metadata& m) { m.set("tokenizer.ggml.scores", Ints(257, 0)); },
     ErrorCode::kCorruptFile, "tokenizer.ggml.scores"},
    {"ScoresNotANumber",
     [](Metadata& m) { m.set("tokenizer.ggml.scores", Doubles(257, std::nan(""))); },
     ErrorCode::kCorruptFile, "tokenizer.ggml.scores"},
    {"ScoresMissing",
     [](Metadata& m) {
       use_pieces(m);
       m.set("tokenizer.ggml.scores", std::monostate());
     },
     ErrorCode::kCorruptFile, "tokenizer.ggml.scores"},
    {"MergesMissing", [](Metadata& m) { m.set("tokenizer.ggml.merges", std::monostate()); },
     ErrorCode::kCorruptFile, "tokenizer.ggml.merges"},
    {"MergeOfUnknownPiece", [](Metadata& m) { m.set("tokenizer.ggml.merges", Strings{"ab xy"}); },
     ErrorCode::kCorruptFile, "'xy'"},
    {"MergeToUnknownPiece", [](Metadata& m) { m.set("tokenizer.ggml.merges", Strings{"b a"}); },
     ErrorCode::kCorruptFile, "'ba'"},
    {"MergeWithoutBlank", [](Metadata& m) { m.set("tokenizer.ggml.merges", Strings{"ab"}); },
     ErrorCode::kCorruptFile, "tokenizer.ggml.merges"},
    {"MergeEmpty", [](Metadata& m) { m.set("tokenizer.ggml.merges", Strings{""}); },
     ErrorCode::kCorruptFile, "tokenizer.ggml.merges"},
    {"MergeOneSided", [](Metadata& m) { m.set("tokenizer.ggml.merges", Strings{"a "}); },
     ErrorCode::kCorruptFile, "tokenizer.ggml.merges"},
    {"ByteTokenNegative", [](Metadata& m) { rename_byte_token<3>(m, "<0x-1>"); },
     ErrorCode::kCorruptFile, "<0x-1>"},
    {"ByteTokenNoHex", [](Metadata& m) { rename_byte_token<4>(m, "<0xZZ>"); },
     ErrorCode::kCorruptFile, "<0xZZ>"},
    {"ByteTokenShort", [](Metadata& m) { rename_byte_token<5>(m, "<0x1>"); },
     ErrorCode::kCorruptFile, "<0x1>"},
    {"EosTooLarge", [](Metadata& m) { m.set("tokenizer.ggml.eos_token_id", int64_t{2147483647}); },
     ErrorCode::kCorruptFile, "tokenizer.ggml.eos_token_id"},
    {"BosNegative", [](Metadata& m) { m.set("tokenizer.ggml.bos_token_id", int64_t{-1}); },
     ErrorCode::kCorruptFile, "tokenizer.ggml.bos_token_id"},
    {"EotIsText", [](Metadata& m) { m.set("tokenizer.ggml.eot_token_id", std::string("x")); },
     ErrorCode::kCorruptFile, "tokenizer.ggml.eot_token_id"},
    {"NothingForUnknownText",
     [](Metadata& m) {
       use_pieces(m);
       m.set("tokenizer.ggml.token_type", Ints(260, 1));
       m.set("tokenizer.ggml.unknown_token_id", std::monostate());
     },
     ErrorCode::kCorruptFile, "tokenizer.ggml.unknown_token_id"},
    {"UnigramWithoutScores", [](Metadata& m) { m.set("tokenizer.ggml.model", std::string("t5")); },
     ErrorCode::kCorruptFile, "scores"},
};

INSTANTIATE_TEST_SUITE_P(Files, BadVocabulary, ::testing::ValuesIn(kBadFiles),
                         [](const auto& file) { return std::string(file.param.name); });

}  // namespace
}  // namespace fathom::codec
