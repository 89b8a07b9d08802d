// Folders as they are published: which file is the tokenizer, and what its neighbours change.
// Called by ctest. Read next: src/codec/tokenizer_files.cc.
#include "codec/tokenizer_files.h"

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "codec/base64.h"
#include "codec/text_tokenizer.h"
#include "src/codec/test_vocabulary.h"
#include "support/error_check.h"
#include "support/temp_folder.h"

namespace fathom::codec {
namespace {

using fathom::test::expect_error;
using fathom::test::TempFolder;
using nlohmann::json;
using Ids = std::vector<TokenId>;

// Words a and b; <s>, </s>, <end> and <think> are added tokens with the ids 2 to 5.
constexpr const char* kTokenizer =
    R"({"added_tokens":[{"id":2,"content":"<s>","special":true},{"id":3,"content":"</s>","special":true},)"
    R"({"id":4,"content":"<end>","special":true},{"id":5,"content":"<think>"}],)"
    R"("pre_tokenizer":{"type":"WhitespaceSplit"},)"
    R"("post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>"}},)"
    R"({"Sequence":{"id":"A"}}],"special_tokens":{"<s>":{"ids":[2]}}},)"
    R"("model":{"type":"WordLevel","vocab":{"a":0,"b":1}}})";

class Folder : public ::testing::Test {
 protected:
  void SetUp() override { folder_.write("tokenizer.json", kTokenizer); }

  std::unique_ptr<Tokenizer> open() { return open_tokenizer(folder_.path()); }

  void write(std::string_view name, const json& value) { folder_.write(name, value.dump()); }

  TempFolder folder_;
};

const EncodeOptions kSpecial{.add_special = true};

TEST_F(Folder, TheTokenizerFileAloneSaysWhatItCan) {
  const auto tokenizer = open();
  EXPECT_EQ(tokenizer->encode("a b", kSpecial), (Ids{2, 0, 1}));
  EXPECT_EQ(tokenizer->vocabulary().bos, 2);  // what the template begins with
  EXPECT_TRUE(tokenizer->vocabulary().add_bos);
  EXPECT_EQ(tokenizer->vocabulary().eos, std::nullopt);
  EXPECT_EQ(tokenizer->end_tokens(), Ids{});
  EXPECT_EQ(tokenizer->vocabulary().chat_template, "");
}

TEST_F(Folder, ConfigNamesTheSpecialTokens) {
  write("special_tokens_map.json",
        {{"bos_token", "<s>"}, {"eos_token", "<end>"}, {"pad_token", "</s>"}});
  EXPECT_EQ(open()->vocabulary().eos, 4);
  EXPECT_EQ(open()->vocabulary().pad, 3);
  // tokenizer_config.json has the last word; a token may be an object; null and unknown say
  // nothing.
  write("tokenizer_config.json", {{"eos_token", {{"content", "</s>"}, {"lstrip", false}}},
                                  {"pad_token", nullptr},
                                  {"unk_token", "<nowhere>"}});
  const auto tokenizer = open();
  EXPECT_EQ(tokenizer->vocabulary().eos, 3);
  EXPECT_EQ(tokenizer->vocabulary().pad, 3);
  EXPECT_EQ(tokenizer->vocabulary().unk, std::nullopt);
  EXPECT_EQ(tokenizer->end_tokens(), Ids{3});
  EXPECT_EQ(tokenizer->encode("a", kSpecial), (Ids{2, 0}));  // it does not say who is added
}

TEST_F(Folder, ConfigSaysWhetherBosAndEosAreAdded) {
  write("tokenizer_config.json", {{"bos_token", "<s>"},
                                  {"eos_token", "</s>"},
                                  {"add_bos_token", false},
                                  {"add_eos_token", true}});
  auto tokenizer = open();
  EXPECT_EQ(tokenizer->encode("a", kSpecial), (Ids{0, 3}));
  EXPECT_FALSE(tokenizer->vocabulary().add_bos);
  EXPECT_TRUE(tokenizer->vocabulary().add_eos);
  write("tokenizer_config.json", {{"bos_token", "<end>"}, {"add_bos_token", true}});
  tokenizer = open();
  EXPECT_EQ(tokenizer->encode("a", kSpecial), (Ids{4, 0}));
  EXPECT_EQ(
      tokenizer->encode("<end>a", {.add_special = true, .parse_special = true, .one_bos = true}),
      (Ids{4, 0}));
}

TEST_F(Folder, GenerationConfigNamesMoreEnds) {
  write("tokenizer_config.json", {{"eos_token", "</s>"}});
  write("generation_config.json", {{"eos_token_id", 4}});
  EXPECT_EQ(open()->end_tokens(), (Ids{3, 4}));
  write("generation_config.json", {{"eos_token_id", {3, 4}}});
  EXPECT_EQ(open()->end_tokens(), (Ids{3, 4}));
  write("generation_config.json", {{"eos_token_id", 6}});
  expect_error([&] { open(); }, ErrorCode::kCorruptFile,
               {"generation_config.json", "eos_token_id", "0 to 5"});
  write("generation_config.json", {{"eos_token_id", json::array({"x"})}});
  expect_error([&] { open(); }, ErrorCode::kCorruptFile, {"eos_token_id.0", "a number"});
}

TEST_F(Folder, ChatTemplateComesFromItsFileFirst) {
  write("tokenizer_config.json", {{"chat_template", "config"}});
  EXPECT_EQ(open()->vocabulary().chat_template, "config");
  folder_.write("chat_template.jinja", "file {{ '<think>' }}");
  EXPECT_EQ(open()->vocabulary().chat_template, "file {{ '<think>' }}");
}

TEST_F(Folder, OfNamedTemplatesTheDefaultIsTheFirst) {
  folder_.write("tokenizer_config.json", R"({"chat_template":[{"name":"tool_use","template":"t"},)"
                                         R"({"name":"default","template":"d"}]})");
  const auto tokenizer = open();
  EXPECT_EQ(tokenizer->vocabulary().chat_template, "d");
  ASSERT_EQ(tokenizer->vocabulary().named_templates.size(), 1u);
  EXPECT_EQ(tokenizer->vocabulary().named_templates[0].name, "tool_use");
  EXPECT_EQ(tokenizer->vocabulary().named_templates[0].source, "t");
  folder_.write("tokenizer_config.json",
                R"({"chat_template":[{"name":"tool_use","template":"t"}]})");
  EXPECT_EQ(open()->vocabulary().chat_template, "");
  folder_.write("tokenizer_config.json", R"({"chat_template":[{"name":"default"}]})");
  expect_error([&] { open(); }, ErrorCode::kCorruptFile, {"chat_template.0", "'template'"});
}

// What the template writes and a user writes too: structure only where the template wrote it.
TEST_F(Folder, MarkersOfTheTemplateCanStayText) {
  folder_.write("chat_template.jinja", "<think>");
  const EncodeOptions keep{.parse_special = true, .keep_markers = true};
  const auto tokenizer = open();
  EXPECT_EQ(tokenizer->encode("a<think>b", {.parse_special = true}), (Ids{0, 5, 1}));
  EXPECT_THROW(static_cast<void>(tokenizer->encode("a <think> b", keep)),
               Error);  // a word unknown here
  folder_.write("chat_template.jinja", "no marker");
  EXPECT_EQ(open()->encode("a<think>b", keep), (Ids{0, 5, 1}));
}

TEST_F(Folder, BrokenNeighboursAreNamed) {
  folder_.write("tokenizer_config.json", "{\"eos_token\": ");
  expect_error([&] { open(); }, ErrorCode::kCorruptFile,
               {"tokenizer_config.json", "JSON is broken"});
  folder_.write("tokenizer_config.json", R"({"eos_token": "\ud800"})");
  expect_error([&] { open(); }, ErrorCode::kCorruptFile,
               {"tokenizer_config.json", "JSON is broken"});
  write("tokenizer_config.json", {{"eos_token", 7}});
  expect_error([&] { open(); }, ErrorCode::kCorruptFile,
               {"tokenizer_config.json.eos_token", "expected a text"});
  folder_.write("tokenizer_config.json", std::string(100, '[') + std::string(100, ']'));
  expect_error([&] { open(); }, ErrorCode::kCorruptFile, {"tokenizer_config.json", "64 levels"});
}

TEST(Files, AreToldApartByNameAndContent) {
  const TempFolder folder;
  expect_error([&] { open_tokenizer(folder.path()); }, ErrorCode::kNotFound,
               {folder.path(), "tokenizer.json", "tokenizer.model", "*.tiktoken"});
  expect_error([&] { open_tokenizer(folder.path_of("none.json")); }, ErrorCode::kNotFound,
               {"none.json"});
  const json cases = test::read_case_file("files.json");
  for (const json& family : cases.at("families")) {
    if (family.at("name") == "tiktoken") {
      folder.write("small.tiktoken", family.at("file").get<std::string>());
      folder.write("tiktoken.json", family.at("settings").dump());
    } else if (family.at("name") == "sp-bpe") {
      folder.write("pieces.model", decode_base64(family.at("file").get<std::string>()).value());
    }
  }
  EXPECT_EQ(open_tokenizer(folder.path())->vocabulary().model, "tiktoken");
  EXPECT_EQ(open_tokenizer(folder.path_of("pieces.model"))->vocabulary().model,
            "SentencePiece BPE");
  folder.write("tokenizer.json", kTokenizer);
  EXPECT_EQ(open_tokenizer(folder.path())->vocabulary().model, "WordLevel");
}

}  // namespace
}  // namespace fathom::codec
