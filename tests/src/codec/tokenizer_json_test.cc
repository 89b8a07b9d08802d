// Small files of every kind, with every stage, against ids and texts of the reference libraries:
// encoding, decoding, and decoding as a stream.
// Called by ctest. Read next: tools/make_tokenizer_cases.py, which writes the cases.
#include "codec/tokenizer_json.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "codec/base64.h"
#include "codec/sentencepiece_file.h"
#include "codec/tiktoken.h"
#include "src/codec/test_vocabulary.h"

namespace fathom::codec {
namespace {

using nlohmann::json;

const json& case_file() {
  static const json file = test::read_case_file("files.json");
  return file;
}

// A model with the values that several files share put in, and its texts numbered.
void complete(json& model) {
  for (const char* key : {"vocab", "merges"}) {
    if (model.contains(key) && model.at(key).is_string()) {
      model[key] = case_file().at("shared").at(model.at(key).get<std::string>().substr(1));
    }
  }
  json& vocabulary = model.at("vocab");
  if (vocabulary.is_array() && vocabulary.at(0).is_string()) {
    json ids = json::object();
    for (const json& text : vocabulary) {
      ids[text.get<std::string>()] = ids.size();
    }
    vocabulary = ids;
  }
}

std::unique_ptr<TextTokenizer> make(const json& family) {
  const std::string kind = family.at("kind");
  const std::string name = family.at("name");
  if (kind == "tokenizer.json") {
    json file = family.at("file");
    complete(file.at("model"));
    return std::make_unique<TextTokenizer>(read_tokenizer_json(file.dump(), name));
  }
  if (kind == "sentencepiece") {
    const std::string bytes = decode_base64(family.at("file").get<std::string>()).value();
    return std::make_unique<TextTokenizer>(read_sentencepiece_model(bytes, name));
  }
  const auto settings = read_tiktoken_settings(family.at("settings").dump(), name);
  return std::make_unique<TextTokenizer>(
      read_tiktoken(family.at("file").get<std::string>(), name, settings));
}

std::string stream(const Tokenizer& tokenizer, const std::vector<TokenId>& ids, bool special) {
  const auto flow = tokenizer.start_decoding(special, true);
  std::string text;
  for (const TokenId id : ids) {
    flow->push(id, text);
  }
  flow->finish(text);
  return text;
}

// `whole` and `shown`: the texts with and without control tokens; null where the reference has
// none.
void check_decoding(const Tokenizer& tokenizer, const std::vector<TokenId>& ids, const json& whole,
                    const json& shown, const std::string& where) {
  for (const bool special : {true, false}) {
    const json& expected = special ? whole : shown;
    if (expected.is_null()) {
      continue;
    }
    EXPECT_EQ(tokenizer.decode(ids, special), expected.get<std::string>()) << where;
    EXPECT_EQ(stream(tokenizer, ids, special), expected.get<std::string>()) << where;
  }
}

// Position `i` of a case: a text, null, or `same` where the file says true.
json text_of(const json& row, size_t i, const json& same) {
  const json value = i < row.size() ? row.at(i) : json();
  return value == true ? same : value;
}

// [text's place, [1: add_special, 2: parse_special, ...], ids, whole, shown]
void check_case(const Tokenizer& tokenizer, const json& row, const std::string& name) {
  const json text = case_file().at("texts").at(row.at(0).get<size_t>());
  const auto ids = row.at(2).get<std::vector<TokenId>>();
  const std::string where = name + ": " + text.dump();
  for (const json& bits : row.at(1)) {
    const int set = bits.get<int>();
    const EncodeOptions options{.add_special = (set & 1) != 0, .parse_special = (set & 2) != 0};
    EXPECT_EQ(tokenizer.encode(text.get<std::string>(), options), ids) << where;
  }
  const json whole = text_of(row, 3, text);
  check_decoding(tokenizer, ids, whole, text_of(row, 4, whole), where);
}

class ReferenceFiles : public ::testing::TestWithParam<std::string> {};

TEST_P(ReferenceFiles, GiveTheReferencesIdsAndTexts) {
  size_t n_run = 0;
  for (const json& family : case_file().at("families")) {
    const std::string name = family.at("name");
    if (name.substr(0, name.find('-')) != GetParam()) {
      continue;
    }
    const auto tokenizer = make(family);
    for (const json& row : family.at("cases")) {
      check_case(*tokenizer, row, name);
      ++n_run;
    }
    for (const json& row : family.at("decode")) {
      check_decoding(*tokenizer, row.at(0), row.at(1), text_of(row, 2, row.at(1)),
                     name + ": " + row.at(0).dump());
    }
  }
  EXPECT_GT(n_run, 10u);
}

INSTANTIATE_TEST_SUITE_P(Kinds, ReferenceFiles,
                         ::testing::Values("byte", "template", "unknown", "prefix", "suffix",
                                           "decode", "unigram", "word", "pre", "normalize", "sp",
                                           "tiktoken"),
                         [](const auto& kind) { return kind.param; });

struct BadJson {
  const char* name;
  const char* text;
  ErrorCode code;
  const char* says;
};

constexpr const char* kGood =
    R"({"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}})";

class BadTokenizerJson : public ::testing::TestWithParam<BadJson> {};

TEST_P(BadTokenizerJson, IsRefusedByName) {
  try {
    read_tokenizer_json(GetParam().text, "t.json");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), GetParam().code) << error.what();
    EXPECT_NE(std::string(error.what()).find("t.json"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(GetParam().says), std::string::npos) << error.what();
  }
}

const BadJson kBadFiles[] = {
    {"Empty", "", ErrorCode::kCorruptFile, "JSON"},
    {"CutOff", R"({"model":{"type":"BPE","vocab":{"a":0)", ErrorCode::kCorruptFile, "JSON"},
    {"NoModel", R"({"version":"1.0"})", ErrorCode::kCorruptFile, "'model'"},
    {"Version", R"({"version":"2.0"})", ErrorCode::kUnsupported, "'2.0'"},
    {"ModelKind", R"({"model":{"type":"Magic","vocab":{}}})", ErrorCode::kUnsupported, "'Magic'"},
    {"NoMerges", R"({"model":{"type":"BPE","vocab":{"a":0}}})", ErrorCode::kCorruptFile, "merges"},
    {"MergeUnknown", R"({"model":{"type":"BPE","vocab":{"a":0},"merges":["a b"]}})",
     ErrorCode::kCorruptFile, "'b'"},
    {"MergeResultUnknown", R"({"model":{"type":"BPE","vocab":{"a":0,"b":1},"merges":[["a","b"]]}})",
     ErrorCode::kCorruptFile, "'ab'"},
    {"MergeOfThree", R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[["a","a","a"]]}})",
     ErrorCode::kCorruptFile, "merges.0"},
    {"IdTwice", R"({"model":{"type":"WordLevel","vocab":{"a":0,"b":0}}})", ErrorCode::kCorruptFile,
     "the id 0"},
    {"IdHuge", R"({"model":{"type":"WordLevel","vocab":{"a":99999999999}}})",
     ErrorCode::kCorruptFile, "99999999999"},
    {"IdNegative", R"({"model":{"type":"WordLevel","vocab":{"a":-1}}})", ErrorCode::kCorruptFile,
     "-1"},
    {"IdText", R"({"model":{"type":"WordLevel","vocab":{"a":"0"}}})", ErrorCode::kCorruptFile,
     "another shape"},
    {"LoneSurrogate", R"({"model":{"type":"WordLevel","vocab":{"\ud800":0}}})",
     ErrorCode::kCorruptFile, "JSON"},
    {"UnkId", R"({"model":{"type":"Unigram","unk_id":7,"vocab":[["a",0.5]]}})",
     ErrorCode::kCorruptFile, "'unk_id' is 7"},
    {"Dropout", R"({"model":{"type":"BPE","dropout":0.1,"vocab":{},"merges":[]}})",
     ErrorCode::kUnsupported, "dropout"},
    {"Normalizer", R"({"normalizer":{"type":"Rot13"},"model":{"type":"WordLevel","vocab":{}}})",
     ErrorCode::kUnsupported, "'Rot13'"},
    {"PreTokenizer",
     R"({"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Rot13"}]},)"
     R"("model":{"type":"WordLevel","vocab":{}}})",
     ErrorCode::kUnsupported, "pre_tokenizer.pretokenizers.0: the pre-tokenizer 'Rot13'"},
    {"Decoder", R"({"decoder":{"type":"Rot13"},"model":{"type":"WordLevel","vocab":{}}})",
     ErrorCode::kUnsupported, "'Rot13'"},
    {"PostProcessor",
     R"({"post_processor":{"type":"Rot13"},"model":{"type":"WordLevel","vocab":{"a":0}}})",
     ErrorCode::kUnsupported, "'Rot13'"},
    {"TemplateId",
     R"({"post_processor":{"type":"BertProcessing","cls":["x",5],"sep":["y",0]},)"
     R"("model":{"type":"WordLevel","vocab":{"a":0}}})",
     ErrorCode::kCorruptFile, "post_processor.cls.1"},
    {"Regex",
     R"({"pre_tokenizer":{"type":"Split","pattern":{"Regex":"(a"},"behavior":"Isolated"},)"
     R"("model":{"type":"WordLevel","vocab":{}}})",
     ErrorCode::kUnsupported, "'(a'"},
    {"Charsmap",
     R"({"normalizer":{"type":"Precompiled","precompiled_charsmap":"AAAA"},)"
     R"("model":{"type":"WordLevel","vocab":{}}})",
     ErrorCode::kCorruptFile, "character map"},
    {"AddedTokenTwice",
     R"({"added_tokens":[{"id":0,"content":"x"}],"model":{"type":"WordLevel","vocab":{"a":0}}})",
     ErrorCode::kCorruptFile, "that is the id of 'a'"},
    {"AddedTokenElsewhere",
     R"({"added_tokens":[{"id":3,"content":"a"}],"model":{"type":"WordLevel","vocab":{"a":0}}})",
     ErrorCode::kCorruptFile, "0 in the model's vocabulary"},
};

INSTANTIATE_TEST_SUITE_P(Files, BadTokenizerJson, ::testing::ValuesIn(kBadFiles),
                         [](const auto& file) { return std::string(file.param.name); });

TEST(TokenizerJson, WhatAModelCannotSpellIsAnErrorOfTheText) {
  const TextTokenizer words(
      read_tokenizer_json(R"({"model":{"type":"WordLevel","vocab":{"a":0}}})", "t.json"));
  EXPECT_EQ(words.encode("a", {}), std::vector<TokenId>{0});
  EXPECT_THROW(words.encode("b", {}), Error);
  const TextTokenizer pairs(read_tokenizer_json(kGood, "t.json"));
  EXPECT_EQ(pairs.encode("abzb", {}), (std::vector<TokenId>{2, 1}));  // as the reference
  EXPECT_THROW(static_cast<void>(pairs.decode(std::vector<TokenId>{3}, true)), Error);
}

TEST(TokenizerJson, PlainRangesAndOneBos) {
  const TextTokenizer tokenizer(read_tokenizer_json(
      R"({"added_tokens":[{"id":3,"content":"<s>","special":true},{"id":4,"content":"<t>"}],)"
      R"("post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>"}},)"
      R"({"Sequence":{"id":"A"}}],"special_tokens":{"<s>":{"ids":[3]}}},)"
      R"("model":{"type":"BPE","vocab":{"a":0,"<":1,"s":2},"merges":[]}})",
      "t.json"));
  const std::vector<PlainRange> plain = {{4, 7}};
  EncodeOptions options{.parse_special = true};
  options.plain = plain;
  EXPECT_EQ(tokenizer.encode("<s>a<s><t>", options), (std::vector<TokenId>{3, 0, 1, 2, 4}));
  options = {.add_special = true, .parse_special = true};
  EXPECT_EQ(tokenizer.encode("<s>a", options), (std::vector<TokenId>{3, 3, 0}));  // the reference
}

}  // namespace
}  // namespace fathom::codec
