// Work that grows as the text does, whatever the model; one BOS; plain ranges; ends of an answer.
// Called by ctest. Read next: src/codec/text_tokenizer.cc.
#include "codec/text_tokenizer.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "codec/gguf_tokenizer.h"
#include "codec/tokenizer_json.h"
#include "src/codec/test_vocabulary.h"
#include "support/error_check.h"

namespace fathom::codec {
namespace {

using Ids = std::vector<TokenId>;

TextTokenizer from_json(const std::string& text) {
  return TextTokenizer(read_tokenizer_json(text, "t.json"));
}

std::string runs_of_a(const std::string& unit, int n_doublings) {
  std::string text = unit;
  for (int i = 0; i < n_doublings; ++i) {
    text += text;
  }
  return text;
}

// Pieces a, aa, aaaa ... of 1 to 2^n letters, as many merges as there can be on one letter.
nlohmann::json doubling_vocabulary(int n) {
  nlohmann::json vocabulary = nlohmann::json::object();
  for (int i = 0; i <= n; ++i) {
    vocabulary[runs_of_a("a", i)] = i;
  }
  return vocabulary;
}

std::string byte_level_json() {
  nlohmann::json file = {
      {"model", {{"type", "BPE"}, {"vocab", doubling_vocabulary(6)}, {"merges", {}}}},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
      {"decoder", {{"type", "ByteLevel"}}}};
  for (int i = 0; i < 6; ++i) {
    file["model"]["merges"].push_back({runs_of_a("a", i), runs_of_a("a", i)});
  }
  return file.dump();
}

std::string unigram_json() {
  auto pieces = nlohmann::json::array();
  pieces.push_back(nlohmann::json::array({"<unk>", 0.0}));
  pieces.push_back(nlohmann::json::array({"\u2581", -3.0}));
  for (int i = 0; i <= 6; ++i) {
    pieces.push_back(nlohmann::json::array({runs_of_a("a", i), -1.0 - i}));
  }
  return nlohmann::json{{"model", {{"type", "Unigram"}, {"unk_id", 0}, {"vocab", pieces}}}}.dump();
}

std::string word_piece_json() {
  nlohmann::json file = {{"model",
                          {{"type", "WordPiece"},
                           {"unk_token", "[UNK]"},
                           {"continuing_subword_prefix", "##"},
                           {"max_input_chars_per_word", 100'000'000},
                           {"vocab", {{"[UNK]", 0}, {"a", 1}, {"##a", 2}, {"##aaaaaaab", 3}}}}}};
  return file.dump();
}

weights::Metadata doubling_pieces() {
  std::vector<std::string> pieces;
  for (int i = 6; i >= 0; --i) {
    pieces.push_back(runs_of_a("a", i));
  }
  pieces.emplace_back("\u2581");
  return test::make_piece_vocabulary(pieces);
}

struct Kind {
  const char* name;
  std::function<TextTokenizer()> make;
};

class Work : public ::testing::TestWithParam<Kind> {};

TEST_P(Work, GrowsAsTheTextDoes) {
  const TextTokenizer tokenizer = GetParam().make();
  const std::string text = runs_of_a("a", 12);
  const uint64_t once = tokenizer.count_steps(text);
  const uint64_t many = tokenizer.count_steps(runs_of_a("a", 15));
  EXPECT_GE(once, text.size() / 2);  // the steps are counted
  EXPECT_LE(many, 9 * once);
  EXPECT_GE(many, 7 * once);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Work,
    ::testing::Values(Kind{"ByteLevelBpe", [] { return from_json(byte_level_json()); }},
                      Kind{"GgufByteLevelBpe",
                           [] {
                             nlohmann::json file = test::read_case_file("bytes.json");
                             auto metadata = test::to_metadata(file.at("metadata"));
                             metadata.set("tokenizer.ggml.pre", std::string("gpt-2"));
                             return TextTokenizer(make_gguf_pipeline(metadata));
                           }},
                      Kind{"SentencePieceBpe",
                           [] { return TextTokenizer(make_gguf_pipeline(doubling_pieces())); }},
                      Kind{"Unigram", [] { return from_json(unigram_json()); }},
                      Kind{"WordPiece", [] { return from_json(word_piece_json()); }}),
    [](const auto& kind) { return std::string(kind.param.name); });

// BOS from the template, from add_special, from both, and written by a user.
TEST(OneBos, IsLeftOfSeveral) {
  weights::Metadata metadata = doubling_pieces();
  metadata.set("tokenizer.ggml.add_bos_token", true);
  metadata.set("tokenizer.ggml.add_space_prefix", false);
  const TextTokenizer tokenizer(make_gguf_pipeline(metadata));
  const Ids text = tokenizer.encode("aa", {});
  const auto with_bos = [&](size_t n) {
    Ids ids(n, 1);
    ids.insert(ids.end(), text.begin(), text.end());
    return ids;
  };
  EncodeOptions options{.add_special = true, .parse_special = true};
  EXPECT_EQ(tokenizer.encode("<s>aa", options), with_bos(2));  // as the reference
  options.one_bos = true;
  EXPECT_EQ(tokenizer.encode("aa", options), with_bos(1));
  EXPECT_EQ(tokenizer.encode("<s>aa", options), with_bos(1));
  EXPECT_EQ(tokenizer.encode("<s><s><s>aa", options), with_bos(1));
  options.add_special = false;
  EXPECT_EQ(tokenizer.encode("aa", options), text);  // none is added where none was asked for
  EXPECT_EQ(tokenizer.encode("<s>aa", options), with_bos(1));
  // A BOS later in the text stays, and text that only looks like one is no BOS.
  Ids later = with_bos(1);
  later.push_back(1);
  EXPECT_EQ(tokenizer.encode("<s>aa<s>", options), later);
  const std::vector<PlainRange> plain = {{0, 3}};
  options.plain = plain;
  EXPECT_NE(tokenizer.encode("<s>aa", options).front(), 1);
}

TEST(PlainRanges, AreMovedAlongWhenBytesAreRepaired) {
  const auto tokenizer = make_tokenizer(test::make_byte_vocabulary({}, {"<|e|>"}));
  const std::string text = "\xFF<|e|>\xFE<|e|>";
  const std::vector<PlainRange> plain = {{6, 12}};
  EncodeOptions options{.parse_special = true};
  options.plain = plain;
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text, options), false), "\uFFFD\uFFFD<|e|>");
}

TEST(PlainRanges, OutsideOfTheTextAreCutToIt) {
  const auto tokenizer = make_tokenizer(test::make_byte_vocabulary({}, {"<|e|>"}));
  const std::vector<PlainRange> plain = {{0, 5}, {90, 100}};
  EncodeOptions options{.parse_special = true};
  options.plain = plain;
  EXPECT_EQ(tokenizer->encode("<|e|><|e|>", options), (Ids{'<', '|', 'e', '|', '>', 256}));
}

TEST(EndTokens, AMessageEndIsNoAnswerEndBesideReturn) {
  const Ids with_return =
      make_tokenizer(test::make_byte_vocabulary({}, {"<|end|>", "<|return|>"}))->end_tokens();
  EXPECT_EQ(with_return, Ids{});
  EXPECT_EQ(make_tokenizer(test::make_byte_vocabulary({}, {"<|end|>"}))->end_tokens(), Ids{256});
}

TEST(Ids, OutsideOfTheVocabularyAreRefused) {
  const auto tokenizer = make_tokenizer(test::make_byte_vocabulary({}, {"<|end|>"}));
  for (const TokenId id : {-1, 257, INT32_MAX, INT32_MIN}) {
    fathom::test::expect_error([&] { static_cast<void>(tokenizer->decode(Ids{id}, true)); },
                               ErrorCode::kInvalidArgument, {std::to_string(id), "0 to 256"});
    std::string out;
    const auto stream = tokenizer->start_decoding(true, true);
    fathom::test::expect_error([&] { stream->push(id, out); }, ErrorCode::kInvalidArgument,
                               {std::to_string(id)});
  }
}

TEST(BadText, NulAndControlCharactersAreText) {
  const auto tokenizer = make_tokenizer(test::make_byte_vocabulary({}, {}));
  const std::string text("a\0b\x01\x7F", 5);
  EXPECT_EQ(tokenizer->encode(text, {}), (Ids{'a', 0, 'b', 1, 0x7F}));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text, {}), true), text);
}

}  // namespace
}  // namespace fathom::codec
